// Package tui is the full screen over all teams: one list of what needs the operator, what works
// and what is done, and beside it the selected request or member.
//
//	err := tui.Run(ctx, tui.Options{Source: live.Of(op, ""), Now: time.Now, In: os.Stdin, Out: os.Stdout, …})
//
// It holds no rule. A Source loads what is shown and does what the keys ask for; package live has the one
// over the packages below operator.
//
// # When a key answers
//
// A request is answerable after all of its lines have stood for ask.Stand, page by page where the screen
// is too short for them: no page is passed over. What is shown stands from the moment at which the
// terminal took the frame with it, and anew when the request, its text or the size changes, and after the
// program or its event loop was stopped. A key that answers by itself has no other key within ask.Repeat
// before and after it. A paste is text for an input line, never a key. A request of high risk is allowed
// by typing its handle, never by one key and never with a batch. An input that was edited is a request of
// its own until then: it is shown, stands and has its own risk. The setup of a new member's worktree that
// nobody has accepted stands like a request, and what is accepted is what stood.
//
// The cursor is on a request or a member, not on a row number: what is added or removed above it
// does not move it. A selected request that was answered elsewhere stays in its place, and says by whom,
// until the cursor leaves it.
//
// # What idling costs
//
// Nothing is drawn that has not changed, and only the lines that differ. The files are read after a
// change of one that matters; the model looks at the clock once a second, more often only while a
// request is new, an answer waits, or a member's output is shown.
package tui
