package kubeflink.runner;

/** Says which statement is refused, by its place among the arguments from 1; the cause says why. */
final class StatementException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    StatementException(int number, RuntimeException cause) {
        super("statement " + number, cause);
    }
}
