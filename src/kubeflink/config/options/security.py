"""Options of Flink, family security."""

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
)
MODULE_FACTORY_CLASSES = option(
    "security.module.factory.classes",
    STRINGS,
    (
        "org.apache.flink.runtime.security.modules.HadoopModuleFactory",
        "org.apache.flink.runtime.security.modules.JaasModuleFactory",
        "org.apache.flink.runtime.security.modules.ZookeeperModuleFactory",
    ),
)
KERBEROS_LOGIN_PRINCIPAL = option(
    "security.kerberos.login.principal", STRING, deprecated_keys=("security.principal",)
)
KERBEROS_LOGIN_KEYTAB = option(
    "security.kerberos.login.keytab", STRING, deprecated_keys=("security.keytab",)
)
KERBEROS_KRB5_CONF_PATH = option("security.kerberos.krb5-conf.path", STRING)
KERBEROS_LOGIN_USE_TICKET_CACHE = option("security.kerberos.login.use-ticket-cache", BOOLEAN, True)
KERBEROS_LOGIN_CONTEXTS = option("security.kerberos.login.contexts", STRING)
KERBEROS_RELOGIN_PERIOD = option("security.kerberos.relogin.period", DURATION, timedelta(minutes=1))
KERBEROS_ACCESS_HADOOP_FILE_SYSTEMS = option(
    "security.kerberos.access.hadoopFileSystems",
    STRINGS,
    deprecated_keys=("yarn.security.kerberos.additionalFileSystems",),
)
DELEGATION_TOKENS_ENABLED = option(
    "security.delegation.tokens.enabled",
    BOOLEAN,
    True,
    deprecated_keys=("security.kerberos.fetch.delegation-token",),
)
DELEGATION_TOKENS_RENEWAL_RETRY_BACKOFF = option(
    "security.delegation.tokens.renewal.retry.backoff",
    DURATION,
    timedelta(hours=1),
    deprecated_keys=("security.kerberos.tokens.renewal.retry.backoff",),
)
DELEGATION_TOKENS_RENEWAL_TIME_RATIO = option(
    "security.delegation.tokens.renewal.time-ratio",
    DOUBLE,
    0.75,
    deprecated_keys=("security.kerberos.tokens.renewal.time-ratio",),
)
DELEGATION_TOKEN_PROVIDER_NAME_ENABLED = option(
    "security.delegation.token.provider.<name>.enabled", BOOLEAN, True
)
ZOOKEEPER_SASL_DISABLE = option("zookeeper.sasl.disable", BOOLEAN, False)
ZOOKEEPER_SASL_SERVICE_NAME = option("zookeeper.sasl.service-name", STRING, "zookeeper")
ZOOKEEPER_SASL_LOGIN_CONTEXT_NAME = option("zookeeper.sasl.login-context-name", STRING, "Client")
SSL_INTERNAL_ENABLED = option("security.ssl.internal.enabled", BOOLEAN, False)
SSL_REST_ENABLED = option("security.ssl.rest.enabled", BOOLEAN, False)
SSL_REST_AUTHENTICATION_ENABLED = option("security.ssl.rest.authentication-enabled", BOOLEAN, False)
SSL_KEYSTORE = option("security.ssl.keystore", STRING)
SSL_KEYSTORE_PASSWORD = option("security.ssl.keystore-password", STRING, secret=True)
SSL_KEY_PASSWORD = option("security.ssl.key-password", STRING, secret=True)
SSL_TRUSTSTORE = option("security.ssl.truststore", STRING)
SSL_TRUSTSTORE_PASSWORD = option("security.ssl.truststore-password", STRING, secret=True)
SSL_INTERNAL_KEYSTORE = option("security.ssl.internal.keystore", STRING)
SSL_INTERNAL_KEYSTORE_PASSWORD = option(
    "security.ssl.internal.keystore-password", STRING, secret=True
)
SSL_INTERNAL_KEY_PASSWORD = option("security.ssl.internal.key-password", STRING, secret=True)
SSL_INTERNAL_KEYSTORE_TYPE = option(
    "security.ssl.internal.keystore-type", STRING, "pkcs12", since=(1, 20)
)
SSL_INTERNAL_TRUSTSTORE = option("security.ssl.internal.truststore", STRING)
SSL_INTERNAL_TRUSTSTORE_PASSWORD = option(
    "security.ssl.internal.truststore-password", STRING, secret=True
)
SSL_INTERNAL_TRUSTSTORE_TYPE = option(
    "security.ssl.internal.truststore-type", STRING, "pkcs12", since=(1, 20)
)
SSL_INTERNAL_CERT_FINGERPRINT = option("security.ssl.internal.cert.fingerprint", STRING)
SSL_REST_KEYSTORE = option("security.ssl.rest.keystore", STRING)
SSL_REST_KEYSTORE_PASSWORD = option("security.ssl.rest.keystore-password", STRING, secret=True)
SSL_REST_KEY_PASSWORD = option("security.ssl.rest.key-password", STRING, secret=True)
SSL_REST_KEYSTORE_TYPE = option("security.ssl.rest.keystore-type", STRING, "pkcs12", since=(1, 20))
SSL_REST_TRUSTSTORE = option("security.ssl.rest.truststore", STRING)
SSL_REST_TRUSTSTORE_PASSWORD = option("security.ssl.rest.truststore-password", STRING, secret=True)
SSL_REST_TRUSTSTORE_TYPE = option(
    "security.ssl.rest.truststore-type", STRING, "pkcs12", since=(1, 20)
)
SSL_REST_CERT_FINGERPRINT = option("security.ssl.rest.cert.fingerprint", STRING)
SSL_REST_VERIFY_HOSTNAME = option("security.ssl.rest.verify-hostname", BOOLEAN, False, since=(2, 3))
SSL_PROTOCOL = option("security.ssl.protocol", STRING, "TLSv1.2")
SSL_ALGORITHMS = option(
    "security.ssl.algorithms",
    STRING,
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    earlier=(((1, 19), {"default": "TLS_RSA_WITH_AES_128_CBC_SHA"}),),
)
SSL_VERIFY_HOSTNAME = option(
    "security.ssl.verify-hostname",
    BOOLEAN,
    False,
    deprecated_since=(2, 3),
    earlier=(((2, 2), {"default": True}),),
)
SSL_PROVIDER = option("security.ssl.provider", STRING, "JDK")
SSL_INTERNAL_SESSION_CACHE_SIZE = option(
    "security.ssl.internal.session-cache-size",
    INTEGER,
    -1,
    deprecated_keys=("security.ssl.session-cache-size",),
)
SSL_INTERNAL_SESSION_TIMEOUT = option(
    "security.ssl.internal.session-timeout",
    INTEGER,
    -1,
    deprecated_keys=("security.ssl.session-timeout",),
)
SSL_INTERNAL_HANDSHAKE_TIMEOUT = option(
    "security.ssl.internal.handshake-timeout",
    INTEGER,
    -1,
    deprecated_keys=("security.ssl.handshake-timeout",),
)
SSL_INTERNAL_CLOSE_NOTIFY_FLUSH_TIMEOUT = option(
    "security.ssl.internal.close-notify-flush-timeout",
    INTEGER,
    -1,
    deprecated_keys=("security.ssl.close-notify-flush-timeout",),
)
KERBEROS_FETCH_DELEGATION_TOKEN = option(
    "security.kerberos.fetch.delegation-token",
    BOOLEAN,
    True,
    until=(1, 20),
    deprecated_since=(1, 17),
)
KERBEROS_TOKENS_RENEWAL_RETRY_BACKOFF = option(
    "security.kerberos.tokens.renewal.retry.backoff",
    DURATION,
    timedelta(hours=1),
    until=(1, 20),
    deprecated_since=(1, 17),
)
KERBEROS_TOKENS_RENEWAL_TIME_RATIO = option(
    "security.kerberos.tokens.renewal.time-ratio",
    DOUBLE,
    0.75,
    until=(1, 20),
    deprecated_since=(1, 17),
)
SSL_ENABLED = option(
    "security.ssl.enabled", BOOLEAN, False, until=(1, 20), deprecated_since=(1, 17)
)
