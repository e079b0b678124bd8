// Package ask asks a person at a terminal and takes only an answer that was typed after
// the question could be read. One Terminal per process owns the terminal: nothing else
// reads an answer from standard input.
//
//	t, err := ask.New(os.Stdin, os.Stderr, ask.Options{})
//	defer t.Close() // also restores the terminal when the caller panics
//	a, err := t.Ask(ctx, ask.Prompt{Handle: "KQ7M", Text: text, Typed: risky})
//
// Whatever else writes to the terminal goes through OutputTo: it waits while a
// question stands, is written after Hold at the latest, and the question is painted
// anew below it.
//
// # When a key counts
//
// A key counts when its first byte came after the question had stood for Stand. Stand is
// counted from the moment at which the last byte of the question had left this process
// (tcdrain), and anew after every paint: of another question, after a resize, after
// SIGCONT, and when output came between. At the end of Stand the input is read until
// nothing is left, and dropped; only what comes later is looked at. A sequence (UTF-8,
// escape sequence, bracketed paste) whose first byte was dropped is dropped whole.
//
// A key that arrives in one read with other bytes is no answer, and neither is a key with
// another byte within Settle before it: those were pasted or typed ahead. A key that
// answers by itself (a, y, n) has no other byte within Repeat before and after it, and
// within Stand after it when something was dropped shortly before: keyboards repeat a key
// that is held faster than that. What a bracketed paste holds is never an answer; when its
// end does not come the question stands anew. Enter alone never allows.
//
// A question may be shown in short first: the key v shows all of it. Where the short form hides something that an allow
// is about, nothing allows before all of it was shown and has stood in its turn.
//
// What is shown has its control characters written out, except line ends, tabs and
// colours.
//
// Of several open questions the riskiest is shown, then the oldest. A riskier one that
// arrives replaces what is shown, unless an answer was begun.
//
// # What happens to the terminal
//
// While a question stands the terminal has no canonical mode and no echo; signals (ISIG)
// and output processing (OPOST) stay on. The modes are restored when no question is open,
// on Close, and before the process stops (SIGTSTP) or dies (SIGQUIT). A terminal that is gone
// fails the open questions; SIGHUP is left to the program. A process in the background reads
// nothing and changes no modes. Of several processes in the foreground the one that holds a
// record lock on the terminal asks; the others wait. When the process was stopped, what was
// typed meanwhile is dropped. A process that was killed leaves the terminal marked (VTIME
// holds a value that nobody else sets); Repair, and the next question, recognise the mark and
// turn canonical mode and echo on again.
//
// Systems without termios are not supported: New returns ErrUnsupported, and whoever asks
// says from where the question can be answered instead.
package ask
