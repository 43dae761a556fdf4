import java.io.PrintStream;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Runs classes of JUnit tests, and prints a line for each test: passed, failed or skipped, its name, and the exception. */
public class Integration {
    public static void main(String[] classes) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        JUnitCore core = new JUnitCore();
        core.addListener(new RunListener() {
            private Failure failure;

            @Override public void testStarted(Description test) {
                failure = null;
            }

            @Override public void testFailure(Failure found) {
                failure = found;
                if (found.getDescription().getMethodName() == null) {
                    print("failed", found.getDescription()); // before or after the tests of a class
                }
            }

            @Override public void testIgnored(Description test) {
                failure = null;
                print("skipped", test);
            }

            @Override public void testFinished(Description test) {
                print(failure == null ? "passed" : "failed", test);
            }

            private void print(String result, Description test) {
                String reason = failure == null ? "" : String.valueOf(failure.getException()).replace('\n', ' ');
                out.println(String.join("\t", result, test.getTestClass().getSimpleName() + "." + test.getMethodName(), reason));
                out.flush();
            }
        });
        for (String name : classes) {
            core.run(Class.forName(name));
        }
        System.exit(0); // clients that a test left behind have threads
    }
}
