package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"waggle/control"
	"waggle/internal/face/view/page"
	"waggle/internal/json/jsonobj"
	"waggle/internal/pattern"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Must panics on an error of a registration, which only a mistake in this program causes.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Commands are a command and all below it.
func Commands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		all = append(all, Commands(sub)...)
	}
	return all
}

// ExitError ends the program with a code and prints nothing: the command has printed its errors.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// failure is the error of the document with --json (commands §1).
type failure struct {
	Code    int      `json:"code"`
	Op      string   `json:"op"`
	Message string   `json:"message"`
	Hint    string   `json:"hint"`
	Near    []string `json:"near"`
}

// Fail prints what went wrong and what to do next, and returns the exit code.
func (a *App) Fail(ctx context.Context, err error) int {
	if quiet, ok := errors.AsType[ExitError](err); ok {
		return int(quiet)
	}
	b := failure{Code: ExitOf(err), Message: err.Error(), Near: []string{}}
	if e, ok := errors.AsType[*operator.Error](err); ok {
		b.Op, b.Hint = e.Op, cmp.Or(e.Advice, a.StepsOf(protocol.TeamName(a.Flags.Team))(e.Next))
		b.Near = append(b.Near, e.Near...)
		if e.Next.Step == operator.NextSameIn {
			b.Hint = a.sameIn(ctx, e.Near)
		}
	} else if isUsage(err) {
		b.Code, b.Message, b.Hint = ExitUsage, flagsText(err), "waggle --help"
	}
	if b.Hint == "" && errors.Is(err, syscall.EMFILE) {
		b.Hint = operator.MoreDescriptors
	}
	if missing, ok := errors.AsType[*team.NotFoundError](err); ok {
		b.Op = "find"
		b.Near = append(b.Near, missing.Near...)
		if b.Hint == "" && missing.What == "team" && len(missing.Near) == 0 {
			b.Hint = "waggle team list lists the teams"
		}
		if b.Hint == "" && missing.What == "member" {
			b.Hint = a.elsewhere(ctx, missing.Name)
		}
	}
	if unknown, ok := errors.AsType[*control.UnknownRequestError](err); ok {
		b.Op, b.Hint = "find", "waggle pending lists the requests"
		if a.Flags.JSON { // the text for people has them in the message
			b.Near = append(b.Near, unknown.Near...)
		}
	}
	if ceiling, ok := errors.AsType[*record.CeilingError](err); ok {
		b.Hint = "the ceiling is yours: edit " + ceiling.Ceiling.File + ", then give the command again"
	}
	if errors.Is(err, control.ErrDiverged) {
		b.Hint = "waggle repair says where and what to do"
	}
	if broken, ok := errors.AsType[*journal.BrokenError](err); ok && b.Hint == "" {
		of := cmp.Or(a.Flags.Team, "TEAM")
		if js := operator.JournalErrors(err); len(js) > 0 {
			of = string(js[0].Team)
		}
		b.Hint = "waggle audit verify names the line; waggle repair " + of + " shows what is lost and lets the member go on without it; waggle stop NAME ends it"
		if broken.Journal == journal.Leader {
			b.Hint = "waggle audit verify names the line; waggle repair " + of + " shows what is lost and lets the team go on without it; waggle down --force " + of + " ends what runs and frees the name"
		}
	}
	if ctx.Err() != nil {
		b.Message = strings.ReplaceAll(b.Message, context.Canceled.Error(), "stopped by a signal")
	}
	if b.Code == ExitLocked && b.Hint == "" {
		b.Hint = "try again in a moment; waggle doctor shows who holds it"
	}
	if a.Flags.JSON {
		doc, merr := jsonobj.Marshal(map[string]failure{"error": b})
		if eerr := WriteJSON(a.Err, doc, merr); eerr != nil {
			return ExitFailed
		}
		return b.Code
	}
	if b.Code != ExitUsage { // a usage error repeats what was typed
		b.Message = page.Local(b.Message, a.Clock())
	}
	width := a.errWidth()
	message := strings.Split(operator.VisibleOutput(b.Message), "\n")
	for i, l := range message {
		if i == 0 {
			l = Red("error:") + " " + l
		}
		message[i] = fold(l, width)
	}
	Fprint(a, a.Err, "%s", strings.Join(message, "\n"))
	if near := strings.Join(b.Near, ", "); near != "" && !says(b.Message, near) {
		Fprint(a, a.Err, "%s", fold(Faint(" near:")+" "+operator.Visible(near), width))
	}
	if b.Hint != "" {
		Fprint(a, a.Err, "%s", fold(Faint(" hint:")+" "+operator.Visible(b.Hint), width))
	}
	return b.Code
}

// says reports whether a message has words, and not only as a part of longer ones.
func says(message, words string) bool {
	const edge = `[^-_\pL\p{Nd}]`
	found, err := regexp.MatchString(`(^|`+edge+`)`+regexp.QuoteMeta(words)+`(`+edge+`|$)`, message)
	return found && err == nil
}

// typedMost is the longest command line, in bytes, that a hint repeats.
const typedMost = 160

// namesMost is how many words of a command line are looked up as names of members.
const namesMost = 12

// sameIn is the command that was typed, in the first of the teams that has a member whom one of its words names, else in
// the first.
func (a *App) sameIn(ctx context.Context, teams []string) string {
	at := slices.Index(a.Typed, "--")
	if at < 0 {
		at = len(a.Typed)
	}
	team := teams[0]
	if op, err := a.Op(); err == nil {
		for _, word := range a.Typed[min(1, at):min(namesMost, at)] {
			if in := inspect.Of(op).PresentIn(ctx, word); len(in) > 0 {
				team = in[0]
				break
			}
		}
	}
	words := slices.Insert(slices.Clone(a.Typed), at, "--team", team)
	for i, w := range words {
		words[i] = ShellWord(w)
	}
	line := "waggle " + strings.Join(words, " ")
	if len(line) > typedMost {
		return StepText(operator.NextSameIn.With())
	}
	return line
}

// plainWord is a word that a shell takes as it is.
var plainWord = pattern.New(`^[\w@%+=:,./-]+$`)

// ShellWord writes a word for a shell.
func ShellWord(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// elsewhere is the next step where the chosen team has no such member: the team that has it.
func (a *App) elsewhere(ctx context.Context, member string) string {
	op, err := a.Op()
	if err != nil {
		return "waggle team show lists the members"
	}
	switch in := inspect.Of(op).PresentIn(ctx, member); len(in) {
	case 0:
		return "waggle team show lists the members"
	case 1:
		return member + " is a member of team " + in[0] + ": add --team " + in[0]
	default:
		return member + " is a member of the teams " + strings.Join(in, ", ") + ": name one with --team"
	}
}

// flagGroup begins cobra's words about flags that exclude each other.
const flagGroup = "if any flags in the group"

// flagsTogether is what they end with.
var flagsTogether = pattern.New(`\[([^\]]*)\] were all set$`)

// flagsText says which flags exclude each other, and other errors as they are.
func flagsText(err error) string {
	m := flagsTogether().FindStringSubmatch(err.Error())
	if m == nil || !strings.HasPrefix(err.Error(), flagGroup) {
		return err.Error()
	}
	return "--" + strings.Join(strings.Fields(m[1]), " and --") + " exclude each other"
}

// isUsage recognises cobra's own errors, which have no type.
func isUsage(err error) bool {
	for _, p := range []string{"unknown command", "unknown flag", "unknown shorthand", "flag needs", "invalid argument", "required flag", flagGroup} {
		if strings.HasPrefix(err.Error(), p) {
			return true
		}
	}
	return false
}
