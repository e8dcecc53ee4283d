import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * A program whose main needs the machine that it was written on: the file FILE, relative to where
 * it was called, and the variable CLIENT_SIDE. What they hold, what the resource named "resource"
 * on its class path holds, and the other arguments are rows of its job.
 *
 * <p>Arguments: FILE DIRECTORY [ARGUMENT ...]
 */
public final class ClientSide {
    private ClientSide() {}

    public static void main(String[] args) throws Exception {
        Stream<String> read = Files.readAllLines(Path.of(args[0])).stream();
        Stream<String> given = Arrays.stream(args).skip(2);
        String rows =
                Stream.of(read, Stream.of("" + System.getenv("CLIENT_SIDE"), resource()), given)
                        .flatMap(each -> each)
                        .map(text -> "('" + text.replace("'", "''") + "')")
                        .collect(Collectors.joining(", "));
        TableEnvironment environment = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        environment.executeSql(
                "CREATE TABLE sink (t STRING) WITH ('connector' = 'filesystem', 'format' = 'csv',"
                        + " 'path' = '"
                        + args[1]
                        + "')");
        environment.executeSql("INSERT INTO sink VALUES " + rows).await();
        System.out.println("the program has seen the end of its job");
    }

    private static String resource() throws Exception {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        try (InputStream found = loader.getResourceAsStream("resource")) {
            return found == null
                    ? "none"
                    : new String(found.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
