package kubeflink.runner;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Runs Flink SQL inside the JobManager: each argument is one statement, without its semicolon.
 *
 * <p>All INSERTs go into one statement set, because a program that is run from an uploaded jar may
 * start one job only. What stands before them (SET, CREATE, USE ...) is executed in order. SETs at
 * the very beginning take part in making the environment, since Flink fixes some options there, such
 * as execution.runtime-mode.
 *
 * <p>A statement that Flink refuses is told by a {@link StatementException}.
 */
public final class SqlRunner {
    private static final Pattern SET =
            Pattern.compile(
                    "SET\\s+(?:'((?:[^']|'')*)'|([^\\s=']+))\\s*=\\s*(?:'((?:[^']|'')*)'|(.*?))\\s*",
                    Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    private static final Pattern RESET =
            Pattern.compile(
                    "RESET(?:\\s+(?:'((?:[^']|'')*)'|(\\S+)))?\\s*", Pattern.CASE_INSENSITIVE);
    private static final Pattern INSERT =
            Pattern.compile("INSERT\\s.*", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private SqlRunner() {}

    public static void main(String[] statements) {
        Map<String, String> initial = new LinkedHashMap<>();
        int next = 0;
        while (next < statements.length) {
            Matcher set = SET.matcher(statements[next]);
            if (!set.matches()) {
                break;
            }
            initial.put(key(set), value(set));
            next++;
        }
        TableEnvironment environment =
                TableEnvironment.create(
                        EnvironmentSettings.newInstance()
                                .withConfiguration(Configuration.fromMap(initial))
                                .build());

        Map<Integer, String> inserts = new LinkedHashMap<>();
        StatementSet all = environment.createStatementSet();
        for (; next < statements.length; next++) {
            int number = next + 1;
            String statement = statements[next];
            try {
                if (INSERT.matcher(statement).matches()) {
                    all.addInsertSql(statement);
                    inserts.put(number, statement);
                } else {
                    execute(environment, statement);
                }
            } catch (RuntimeException refused) {
                throw new StatementException(number, refused);
            }
        }
        if (!inserts.isEmpty()) {
            try {
                all.execute();
            } catch (RuntimeException failed) {
                blame(environment, inserts);
                throw failed;
            }
        }
    }

    private static void execute(TableEnvironment environment, String statement) {
        Matcher set = SET.matcher(statement);
        Matcher reset = RESET.matcher(statement);
        if (set.matches()) {
            environment.getConfig().set(key(set), value(set));
        } else if (reset.matches()) {
            reset(environment, reset);
        } else {
            environment.executeSql(statement);
        }
    }

    /** Together they make one job, whose failure names none: the one at fault fails alone, too. */
    private static void blame(TableEnvironment environment, Map<Integer, String> inserts) {
        inserts.forEach(
                (number, insert) -> {
                    try {
                        environment.explainSql(insert);
                    } catch (RuntimeException refused) {
                        throw new StatementException(number, refused);
                    }
                });
    }

    private static void reset(TableEnvironment environment, Matcher reset) {
        Configuration configuration = environment.getConfig().getConfiguration();
        String key = first(reset.group(1), reset.group(2));
        if (key == null) {
            for (String each : new ArrayList<>(configuration.keySet())) {
                configuration.removeKey(each);
            }
        } else {
            configuration.removeKey(key);
        }
    }

    private static String key(Matcher set) {
        return first(set.group(1), set.group(2));
    }

    private static String value(Matcher set) {
        return first(set.group(3), set.group(4));
    }

    /** The quoted form with its doubled quotes made single, or else the bare form. */
    private static String first(String quoted, String bare) {
        return quoted != null ? quoted.replace("''", "'") : bare;
    }
}
