package decidecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/net/idna"

	"waggle/internal/cmdline"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/policyview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/protocol"
	"waggle/team"
)

func Why(a *app.App) *cobra.Command {
	var f judging
	cmd := &cobra.Command{
		Use:   "why NAME | ID | 'COMMAND' | PATH | HOST",
		Short: "Say why: a member's state, a decision, what would happen to a call",
		Long: `Say what is, or what would happen, and why. What stands in the argument says which:

  a member's NAME      its state, its age, and the evidence (journals, process, mailbox,
                       output), also of one that has left and of an ended team
  a session's NAME     the same of a session of yours, by its name, @NAME, pid or id
  a request's ID       what decided that call, and what the rules say of it now
  a shell COMMAND      what the rules would decide of it, and which rule or part is why
  a PATH               the same for reading and for editing the file
  a HOST, HOST:PORT    the same for opening it

A word is looked for in this order. A name that may be a host's or that of a file that
is not there (api.example) is judged as both: HOST:PORT is only the host, ./PATH the
path. A call may be written as policy test takes it, too. The command asks and records
nothing. --for NAME judges a call as one of that member, with its rules, mode and
directory.

--json of a member: {"team","name","state","since","why","trust","evidence":[{"source",
"at","detail"}]}, and "unheard" if only config.json has it; of a request as policy
explain, of a call as policy test, of a path {"read","edit"} with one of these each,
and "open" where it may be a host.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return why(cmd.Context(), a, f, args[0])
		},
	}
	f.add(a, cmd)
	return cmd
}

func why(ctx context.Context, a *app.App, f judging, what string) error {
	var missing error // what nobody is called
	if f == (judging{}) && !strings.ContainsAny(what, " /({") {
		if missing = whyMember(ctx, a, what); missing == nil {
			return nil
		}
		if done, err := whySession(ctx, a, what); done {
			return err
		}
		if !isMissing(missing) && callsOf(what) == nil { // of a team that cannot be read the members are not known
			return missing
		}
		if err := whyDecided(ctx, a, what); err == nil || !isMissing(err) && callsOf(what) == nil {
			return err
		}
	}
	calls := callsOf(what)
	switch {
	case calls == nil && missing == nil:
		return &operator.Error{Kind: operator.Usage, Op: "why", Msg: fmt.Sprintf("%q is no command, path or host here", what), Advice: "a host without a dot has its port: HOST:PORT"}
	case calls == nil:
		return missing
	}
	if len(calls) == 1 {
		return f.judge(ctx, a, calls[0], false)
	}
	return a.EachTeam(ctx, f.team(a), func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
		var p page.Page
		var doc struct {
			Read *decide.Judged `json:"read"`
			Edit *decide.Judged `json:"edit"`
			Open *decide.Judged `json:"open,omitempty"`
		}
		docs := []**decide.Judged{&doc.Read, &doc.Edit, &doc.Open}
		for i, call := range calls {
			j, err := f.judged(ctx, op, name, call)
			if err != nil {
				return app.Output{}, err
			}
			p.Line(page.Plain([]string{"read ", "edit ", "open the host "}[i] + what))
			p, *docs[i] = append(p, policyview.JudgedPage(j, false)...), j
		}
		return app.Output{Doc: doc, Page: p}, nil
	})
}

func isMissing(err error) bool {
	var e *team.NotFoundError
	return errors.As(err, &e)
}

func whyMember(ctx context.Context, a *app.App, name string) error {
	op, of, err := a.TeamWith(ctx, name)
	if err != nil {
		return err
	}
	return app.Answer(a, view.WhyPage)(inspect.Of(op).Why(ctx, of, name))
}

// whySession is for a session of this user; done is false when what names none.
func whySession(ctx context.Context, a *app.App, what string) (done bool, err error) {
	op, err := a.Op()
	if err != nil || a.Flags.Team != "" {
		return false, nil
	}
	named := inspect.Of(op).SessionNamed(ctx, "", what)
	if named == "" {
		return false, nil
	}
	return true, app.Answer(a, view.WhyPage)(inspect.Of(op).WhySession(named))
}

func whyDecided(ctx context.Context, a *app.App, id string) error {
	if _, _, err := a.TeamRead(ctx); err != nil && operator.KindOf(err) != operator.Usage {
		return &team.NotFoundError{What: "call", Name: id}
	}
	return explain(ctx, a, id)
}

// callsOf are the calls that a text stands for: itself, a host, reading and editing a file, a command; none for a word
// that is none of these. A name as a file's that is not there may be a host's too (api.example, get.sh): all three.
func callsOf(what string) []string {
	_, noFile := os.Lstat(what)
	_, noProgram := exec.LookPath(what)
	host, port, noHost := policy.ReadHost(what, idna.Lookup.ToASCII)
	read := []string{"Read(" + what + ")", "Edit(" + what + ")"}
	switch plain := !strings.ContainsAny(what, " \t\n;|&<>$`(){}*?"); {
	case isToolCall(what):
		return []string{what}
	case plain && noFile != nil && noHost == nil && (strings.Contains(host, ".") || strings.Contains(what, ":")):
		open := "net " + strings.TrimSuffix(what, "/")
		if port == "" && cmdline.IsFile(host) {
			return append(read, open)
		}
		return []string{open}
	case plain && (noFile == nil || strings.Contains(what, "/") && noProgram != nil || cmdline.IsFile(what)):
		return read
	case !plain, noProgram == nil:
		return []string{"Bash(" + what + ")"}
	}
	return nil
}

// isToolCall reports a call as policy test takes it: a tool's name before a bracket, an object, "net HOST".
func isToolCall(s string) bool {
	tool, _, bracket := strings.Cut(s, "(")
	named := strings.HasPrefix(tool, "mcp__") || tool != "" && tool[0] >= 'A' && tool[0] <= 'Z' && !strings.ContainsAny(tool, "=/ ")
	return strings.HasPrefix(s, "{") && strings.Contains(s, `"tool"`) || strings.HasPrefix(s, "net ") || bracket && named && strings.HasSuffix(s, ")")
}
