package kubeflink.runner;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.table.functions.TableFunction;

/**
 * The words of a line, in lower case: a table function for the demo's word count.
 *
 * <p>A word is a run of letters of any script, with apostrophes inside it.
 */
public final class Words extends TableFunction<String> {
    private static final long serialVersionUID = 1L;
    private static final Pattern WORD = Pattern.compile("\\p{L}+(?:['\\u2019]\\p{L}+)*");

    public void eval(String line) {
        if (line == null) {
            return;
        }
        Matcher word = WORD.matcher(line);
        while (word.find()) {
            collect(word.group().toLowerCase(Locale.ROOT));
        }
    }
}
