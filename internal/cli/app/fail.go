package app

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"waggle/control"
	"waggle/internal/jsonobj"
	"waggle/journal"
	"waggle/operator"
	"waggle/record"
	"waggle/team"
)

// Must panics on an error of a registration, which only a mistake in this program causes.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// UsageArgs turns cobra's errors about arguments into usage errors.
func UsageArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: cmd.CommandPath(), Err: err, Advice: "usage: " + cmd.UseLine()}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		UsageArgs(sub)
	}
}

// ExitError ends the program with a code and prints nothing: the command has printed its errors.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// failure is an error with --json (commands §1).
type failure struct {
	Error failureBody `json:"error"`
}

type failureBody struct {
	Code    int      `json:"code"`
	Op      string   `json:"op"`
	Message string   `json:"message"`
	Hint    string   `json:"hint"`
	Near    []string `json:"near"`
}

// Fail prints what went wrong and what to do next, and returns the exit code.
func (a *App) Fail(err error) int {
	var quiet ExitError
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	b := failureBody{Code: ExitOf(err), Message: err.Error(), Near: []string{}}
	var e *operator.Error
	if errors.As(err, &e) {
		b.Op, b.Hint = e.Op, Hint(e)
		b.Near = append(b.Near, e.Near...)
	} else if isUsage(err) {
		b.Code, b.Hint = ExitUsage, "waggle --help"
	}
	var missing *team.NotFoundError
	if errors.As(err, &missing) {
		b.Op = "find"
		b.Near = append(b.Near, missing.Near...)
		if b.Hint == "" && missing.What == "member" {
			b.Hint = "waggle team show lists the members"
		}
	}
	var unknown *control.UnknownRequestError
	if errors.As(err, &unknown) {
		b.Op, b.Hint = "find", "waggle pending lists the requests"
		if a.Flags.JSON { // the text for people has them in the message
			b.Near = append(b.Near, unknown.Near...)
		}
	}
	var ceiling *record.CeilingError
	if errors.As(err, &ceiling) {
		b.Hint = "the ceiling is yours: edit " + ceiling.Ceiling.File + ", then give the command again"
	}
	if errors.Is(err, control.ErrDiverged) {
		b.Hint = "waggle audit acknowledge says where and what to do"
	}
	var broken *journal.BrokenError
	if errors.As(err, &broken) && b.Hint == "" {
		b.Hint = "waggle audit verify names the line; waggle audit acknowledge --team " + cmp.Or(a.Flags.Team, "TEAM") + " shows what is lost and lets the member go on without it; waggle stop NAME ends it"
		if broken.Journal == journal.Leader {
			b.Hint = "waggle audit verify names the line; " + waysOn(cmp.Or(a.Flags.Team, "TEAM"))
		}
	}
	if b.Code == ExitLocked && b.Hint == "" {
		b.Hint = "try again in a moment; waggle doctor shows who holds it"
	}
	if a.Flags.JSON {
		doc, merr := jsonobj.Marshal(failure{b})
		if eerr := WriteJSON(a.Err, doc, merr); eerr != nil {
			return ExitFailed
		}
		return b.Code
	}
	Fprint(a, a.Err, "%s %s", Red("error:"), operator.VisibleLines(b.Message))
	if near := strings.Join(b.Near, ", "); near != "" && !strings.Contains(b.Message, near) {
		Fprint(a, a.Err, "%s %s", Faint(" near:"), operator.Visible(near))
	}
	if b.Hint != "" {
		Fprint(a, a.Err, "%s %s", Faint(" hint:"), operator.Visible(b.Hint))
	}
	return b.Code
}

// isUsage recognises cobra's own errors, which have no type.
func isUsage(err error) bool {
	for _, p := range []string{"unknown command", "unknown flag", "unknown shorthand", "flag needs", "invalid argument", "required flag"} {
		if len(err.Error()) >= len(p) && err.Error()[:len(p)] == p {
			return true
		}
	}
	return false
}
