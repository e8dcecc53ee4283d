import java.util.Arrays;
import java.util.Locale;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/**
 * Counts the words of its arguments, and prints them with their counts to the TaskManager's log.
 *
 * <p>With --endless as the first argument it reads the others again and again, ten lines a second,
 * until it is stopped: a job with something to remember in a savepoint.
 */
public final class WordCount {
    private static final String ENDLESS = "--endless";

    private WordCount() {}

    public static void main(String[] arguments) throws Exception {
        boolean endless = arguments.length > 0 && arguments[0].equals(ENDLESS);
        String[] lines = endless ? Arrays.copyOfRange(arguments, 1, arguments.length) : arguments;
        if (lines.length == 0) {
            throw new IllegalArgumentException("give a text to count: wordcount.jar \"to be or not\"");
        }
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment();
        if (!endless) {
            environment.setRuntimeMode(RuntimeExecutionMode.BATCH);
        }
        DataStream<String> text =
                endless
                        ? environment.fromSequence(0, Long.MAX_VALUE - 1).map(new Again(lines))
                        : environment.fromData(lines);
        text.flatMap(new Words()).keyBy(count -> count.f0).sum(1).print();
        environment.execute("word count");
    }

    /** The lines one after the other, and from the first again, ten a second. */
    public static final class Again implements MapFunction<Long, String> {
        private static final long serialVersionUID = 1L;
        private final String[] lines;

        public Again(String[] lines) {
            this.lines = lines;
        }

        @Override
        public String map(Long number) throws Exception {
            Thread.sleep(100);
            return lines[(int) (number % lines.length)];
        }
    }

    /** The words of a line, each counted once. */
    public static final class Words implements FlatMapFunction<String, Tuple2<String, Integer>> {
        private static final long serialVersionUID = 1L;

        @Override
        public void flatMap(String line, Collector<Tuple2<String, Integer>> out) {
            for (String word : line.toLowerCase(Locale.ROOT).split("[^\\p{L}]+")) {
                if (!word.isEmpty()) {
                    out.collect(Tuple2.of(word, 1));
                }
            }
        }
    }
}
