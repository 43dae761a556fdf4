import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/**
 * Reads texts from standard input, one per line, as hexadecimal UTF-16 units of four digits. Writes one line for each: what Integer.parseInt
 * and Long.parseLong return, or "refused" for NumberFormatException, and what Boolean.parseBoolean returns, separated by tabs.
 */
public class JavaNumbers {
    public static void main(String[] args) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            StringBuilder text = new StringBuilder();
            for (int at = 0; at < line.length(); at += 4) {
                text.append((char) Integer.parseInt(line.substring(at, at + 4), 16));
            }
            String given = text.toString();
            System.out.println(parsed(Integer::parseInt, given) + "\t" + parsed(Long::parseLong, given) + "\t" + Boolean.parseBoolean(given));
        }
    }

    private static String parsed(Function<String, Object> parser, String text) {
        try {
            return parser.apply(text).toString();
        } catch (NumberFormatException refused) {
            String expected = "For input string: \"" + text + "\"";
            return refused.getMessage().equals(expected) ? "refused" : "refused: " + refused.getMessage();
        }
    }
}
