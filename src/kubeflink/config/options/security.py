"""Options of Kerberos, delegation tokens and TLS (`SecurityOptions`)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import BOOLEAN, DOUBLE, DURATION, INTEGER, STRING, STRINGS
from kubeflink.config.options.option import option

CONTEXT_FACTORY_CLASSES = option(
    "security.context.factory.classes",
    STRINGS,
    (
        "org.apache.flink.runtime.security.contexts.HadoopSecurityContextFactory",
        "org.apache.flink.runtime.security.contexts.NoOpSecurityContextFactory",
    ),
    about=(
        "Classes that make the security context in which Flink runs; the first that fits counts."
    ),
)
MODULE_FACTORY_CLASSES = option(
    "security.module.factory.classes",
    STRINGS,
    (
        "org.apache.flink.runtime.security.modules.HadoopModuleFactory",
        "org.apache.flink.runtime.security.modules.JaasModuleFactory",
        "org.apache.flink.runtime.security.modules.ZookeeperModuleFactory",
    ),
    about="Classes that set up security: Hadoop, JAAS, ZooKeeper.",
)
KERBEROS_LOGIN_PRINCIPAL = option(
    "security.kerberos.login.principal",
    STRING,
    deprecated_keys=("security.principal",),
    about="Kerberos principal of the keytab.",
)
KERBEROS_LOGIN_KEYTAB = option(
    "security.kerberos.login.keytab",
    STRING,
    deprecated_keys=("security.keytab",),
    about="Keytab of the client; it is shipped as a Secret and mounted.",
)
KERBEROS_KRB5_CONF_PATH = option(
    "security.kerberos.krb5-conf.path",
    STRING,
    about=("krb5.conf of the client; it is shipped as a ConfigMap and mounted at /etc/krb5.conf."),
)
KERBEROS_LOGIN_USE_TICKET_CACHE = option(
    "security.kerberos.login.use-ticket-cache",
    BOOLEAN,
    True,
    about="Whether the Kerberos ticket cache is used.",
)
KERBEROS_LOGIN_CONTEXTS = option(
    "security.kerberos.login.contexts",
    STRING,
    about=(
        "JAAS contexts that get the Kerberos credentials: Client for ZooKeeper, KafkaClient "
        "for Kafka."
    ),
)
KERBEROS_RELOGIN_PERIOD = option(
    "security.kerberos.relogin.period",
    DURATION,
    timedelta(minutes=1),
    about="Pause between renewals of the login from a keytab.",
)
KERBEROS_ACCESS_HADOOP_FILE_SYSTEMS = option(
    "security.kerberos.access.hadoopFileSystems",
    STRINGS,
    deprecated_keys=("yarn.security.kerberos.additionalFileSystems",),
    about="Hadoop file systems for which delegation tokens are fetched.",
)
DELEGATION_TOKENS_ENABLED = option(
    "security.delegation.tokens.enabled",
    BOOLEAN,
    True,
    deprecated_keys=("security.kerberos.fetch.delegation-token",),
    about="Whether delegation tokens are fetched, renewed and handed to TaskManagers.",
)
DELEGATION_TOKENS_RENEWAL_RETRY_BACKOFF = option(
    "security.delegation.tokens.renewal.retry.backoff",
    DURATION,
    timedelta(hours=1),
    deprecated_keys=("security.kerberos.tokens.renewal.retry.backoff",),
    about="Pause after a failed renewal of delegation tokens.",
)
DELEGATION_TOKENS_RENEWAL_TIME_RATIO = option(
    "security.delegation.tokens.renewal.time-ratio",
    DOUBLE,
    0.75,
    deprecated_keys=("security.kerberos.tokens.renewal.time-ratio",),
    about="Share of a delegation token's life after which it is renewed.",
)
DELEGATION_TOKEN_PROVIDER_NAME_ENABLED = option(
    "security.delegation.token.provider.<name>.enabled",
    BOOLEAN,
    True,
    about="Whether a certain provider of delegation tokens is used.",
)
ZOOKEEPER_SASL_DISABLE = option(
    "zookeeper.sasl.disable", BOOLEAN, False, about="Whether ZooKeeper is used without SASL."
)
ZOOKEEPER_SASL_SERVICE_NAME = option(
    "zookeeper.sasl.service-name",
    STRING,
    "zookeeper",
    about="Kerberos service name of the ZooKeeper servers.",
)
ZOOKEEPER_SASL_LOGIN_CONTEXT_NAME = option(
    "zookeeper.sasl.login-context-name", STRING, "Client", about="JAAS context for ZooKeeper."
)
SSL_INTERNAL_ENABLED = option(
    "security.ssl.internal.enabled",
    BOOLEAN,
    False,
    about="TLS with mutual authentication between Flink's processes.",
)
SSL_REST_ENABLED = option(
    "security.ssl.rest.enabled", BOOLEAN, False, about="TLS for REST and web UI."
)
SSL_REST_AUTHENTICATION_ENABLED = option(
    "security.ssl.rest.authentication-enabled",
    BOOLEAN,
    False,
    about="Whether REST clients need a certificate.",
)
SSL_KEYSTORE = option(
    "security.ssl.keystore", STRING, about="Java keystore with Flink's key and certificate."
)
SSL_KEYSTORE_PASSWORD = option(
    "security.ssl.keystore-password", STRING, secret=True, about="Password of the keystore."
)
SSL_KEY_PASSWORD = option(
    "security.ssl.key-password", STRING, secret=True, about="Password of the key in the keystore."
)
SSL_TRUSTSTORE = option(
    "security.ssl.truststore", STRING, about="Java truststore with the certificates to trust."
)
SSL_TRUSTSTORE_PASSWORD = option(
    "security.ssl.truststore-password", STRING, secret=True, about="Password of the truststore."
)
SSL_INTERNAL_KEYSTORE = option(
    "security.ssl.internal.keystore",
    STRING,
    about="Keystore for connections between Flink's processes.",
)
SSL_INTERNAL_KEYSTORE_PASSWORD = option(
    "security.ssl.internal.keystore-password",
    STRING,
    secret=True,
    about="Password of the internal keystore.",
)
SSL_INTERNAL_KEY_PASSWORD = option(
    "security.ssl.internal.key-password",
    STRING,
    secret=True,
    about="Password of the key in the internal keystore.",
)
SSL_INTERNAL_KEYSTORE_TYPE = option(
    "security.ssl.internal.keystore-type",
    STRING,
    "pkcs12",
    since=(1, 20),
    about="Format of the internal keystore.",
)
SSL_INTERNAL_TRUSTSTORE = option(
    "security.ssl.internal.truststore",
    STRING,
    about="Truststore for connections between Flink's processes.",
)
SSL_INTERNAL_TRUSTSTORE_PASSWORD = option(
    "security.ssl.internal.truststore-password",
    STRING,
    secret=True,
    about="Password of the internal truststore.",
)
SSL_INTERNAL_TRUSTSTORE_TYPE = option(
    "security.ssl.internal.truststore-type",
    STRING,
    "pkcs12",
    since=(1, 20),
    about="Format of the internal truststore.",
)
SSL_INTERNAL_CERT_FINGERPRINT = option(
    "security.ssl.internal.cert.fingerprint",
    STRING,
    about="SHA-1 fingerprint that the internal certificate must have.",
)
SSL_REST_KEYSTORE = option(
    "security.ssl.rest.keystore", STRING, about="Keystore for REST and web UI."
)
SSL_REST_KEYSTORE_PASSWORD = option(
    "security.ssl.rest.keystore-password",
    STRING,
    secret=True,
    about="Password of the REST keystore.",
)
SSL_REST_KEY_PASSWORD = option(
    "security.ssl.rest.key-password",
    STRING,
    secret=True,
    about="Password of the key in the REST keystore.",
)
SSL_REST_KEYSTORE_TYPE = option(
    "security.ssl.rest.keystore-type",
    STRING,
    "pkcs12",
    since=(1, 20),
    about="Format of the REST keystore.",
)
SSL_REST_TRUSTSTORE = option(
    "security.ssl.rest.truststore", STRING, about="Truststore for REST and web UI."
)
SSL_REST_TRUSTSTORE_PASSWORD = option(
    "security.ssl.rest.truststore-password",
    STRING,
    secret=True,
    about="Password of the REST truststore.",
)
SSL_REST_TRUSTSTORE_TYPE = option(
    "security.ssl.rest.truststore-type",
    STRING,
    "pkcs12",
    since=(1, 20),
    about="Format of the REST truststore.",
)
SSL_REST_CERT_FINGERPRINT = option(
    "security.ssl.rest.cert.fingerprint",
    STRING,
    about="SHA-1 fingerprint that the REST certificate must have.",
)
SSL_REST_VERIFY_HOSTNAME = option(
    "security.ssl.rest.verify-hostname",
    BOOLEAN,
    False,
    since=(2, 3),
    about="Whether a REST client checks the host name in the certificate.",
)
SSL_PROTOCOL = option(
    "security.ssl.protocol", STRING, "TLSv1.2", about="Version of TLS that is spoken."
)
SSL_ALGORITHMS = option(
    "security.ssl.algorithms",
    STRING,
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    earlier=(((1, 19), {"default": "TLS_RSA_WITH_AES_128_CBC_SHA"}),),
    about="TLS cipher suites, separated by commas.",
)
SSL_VERIFY_HOSTNAME = option(
    "security.ssl.verify-hostname",
    BOOLEAN,
    False,
    deprecated_since=(2, 3),
    earlier=(((2, 2), {"default": True}),),
    about="Whether host names in certificates are checked.",
)
SSL_PROVIDER = option(
    "security.ssl.provider", STRING, "JDK", about="TLS implementation: JDK or OPENSSL."
)
SSL_INTERNAL_SESSION_CACHE_SIZE = option(
    "security.ssl.internal.session-cache-size",
    INTEGER,
    -1,
    deprecated_keys=("security.ssl.session-cache-size",),
    about="Size of the cache of TLS sessions; the JVM's default if -1.",
)
SSL_INTERNAL_SESSION_TIMEOUT = option(
    "security.ssl.internal.session-timeout",
    INTEGER,
    -1,
    deprecated_keys=("security.ssl.session-timeout",),
    about="Milliseconds that a TLS session is cached; the JVM's default if -1.",
)
SSL_INTERNAL_HANDSHAKE_TIMEOUT = option(
    "security.ssl.internal.handshake-timeout",
    INTEGER,
    -1,
    deprecated_keys=("security.ssl.handshake-timeout",),
    about="Milliseconds that a TLS handshake may take; the JVM's default if -1.",
)
SSL_INTERNAL_CLOSE_NOTIFY_FLUSH_TIMEOUT = option(
    "security.ssl.internal.close-notify-flush-timeout",
    INTEGER,
    -1,
    deprecated_keys=("security.ssl.close-notify-flush-timeout",),
    about="Milliseconds that closing a TLS connection may take; the JVM's default if -1.",
)
KERBEROS_FETCH_DELEGATION_TOKEN = option(
    "security.kerberos.fetch.delegation-token",
    BOOLEAN,
    True,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Whether delegation tokens are fetched; the older name.",
)
KERBEROS_TOKENS_RENEWAL_RETRY_BACKOFF = option(
    "security.kerberos.tokens.renewal.retry.backoff",
    DURATION,
    timedelta(hours=1),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Pause after a failed renewal of tokens; the older name.",
)
KERBEROS_TOKENS_RENEWAL_TIME_RATIO = option(
    "security.kerberos.tokens.renewal.time-ratio",
    DOUBLE,
    0.75,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Share of a token's life after which it is renewed; the older name.",
)
SSL_ENABLED = option(
    "security.ssl.enabled",
    BOOLEAN,
    False,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="TLS for both internal and REST connections; the older switch.",
)
