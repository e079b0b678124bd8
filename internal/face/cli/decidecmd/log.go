package decidecmd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/sentence"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// logView selects the records that are shown.
type logView struct {
	kind        string
	member      string // the argument, when it is a member
	follow, raw bool
}

func Log(a *app.App) *cobra.Command {
	var v logView
	cmd := &cobra.Command{
		Use:   "log [NAME | TEAM]",
		Short: "Show the records of the journals, a sentence each",
		Long: `Show the records of the journals in order of time, a sentence each: of all teams here,
of member NAME in whichever team it is (leader for the leader's journal), or of TEAM,
which is a name, or the id of a team that was (<team>-<8 hex digits>); the journals of a
deleted team are kept. A word that is both means the team; NAME@TEAM means the member. For
a team that another program leads, or led, they hold only what you did there. --raw shows
the records as the journals have them. A journal that is broken is shown to its break,
named, and is exit 1. With --follow it is a note, and the other journals go on; only a
leader's journal of the one team that is followed ends the command.

--json: {"records":[{"team","time","journal","name","seq","writer","kind","body"}]}, and
"problems", as by audit verify, where a journal is broken; with --follow a record a line.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.known(); err != nil {
				return err
			}
			op, args, name, err := subject(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			v.member = name
			if v.follow && a.Flags.JSON && !v.raw {
				return v.states(cmd.Context(), a, op, args)
			}
			ls, err := openLogs(cmd.Context(), a, op, args)
			if err != nil {
				return err
			}
			if v.follow {
				return follow(cmd.Context(), a, ls, v)
			}
			all, broken := ls.next(cmd.Context())
			if err := ls.has(v.member, broken); err != nil {
				return err
			}
			if v.member != "" {
				broken = operator.About(broken, v.member)
			}
			return errors.Join(v.show(a, v.of(all), broken, ls.several()), broken)
		},
	}
	cmd.Flags().StringVar(&v.kind, "kind", "", "only records of this kind")
	cmd.Flags().BoolVar(&v.raw, "raw", false, "show the records as JSON, with times in UTC")
	cmd.Flags().BoolVarP(&v.follow, "follow", "f", false, "continue, and show new records")
	app.OneOf(cmd, "kind", record.Kinds()...)
	return cmd
}

// known refuses a kind that no journal has.
func (v logView) known() error {
	if v.kind == "" || slices.Contains(record.Kinds(), v.kind) {
		return nil
	}
	return &operator.Error{Kind: operator.Usage, Op: "log", Msg: "there is no kind of record " + v.kind, Near: team.Near(v.kind, record.Kinds()),
		Advice: "waggle log without --kind shows the kinds in its column KIND"}
}

// logs are the journals of the teams that a log is about.
type logs struct {
	list []*operator.Log
	say  sentence.LogSentences
}

// subject reads an argument NAME | TEAM of a command that reads: the teams that it is about and, when
// it names none, the member. The word of --team is a team.
func subject(ctx context.Context, a *app.App, args []string) (op operator.Operator, teams []string, member string, err error) {
	op, err = a.Op()
	if err != nil || len(args) == 0 {
		return op, nil, "", err
	}
	name := args[0]
	_, noTeam := op.OpenLog(ctx, name)
	if a.Flags.Team == "" && noTeam == nil {
		return op, args, "", nil
	}
	if a.Flags.Team != "" {
		return op, []string{a.Flags.Team}, name, nil
	}
	if operator.KindOf(noTeam) != operator.NotFound {
		return op, args, "", nil // its record cannot be read, which is said where it is opened
	}
	if name == string(journal.Leader) {
		return op, nil, name, nil
	}
	with, err := inspect.Of(op).TeamsWith(ctx, name)
	if none, ok := errors.AsType[*team.NotFoundError](err); ok {
		if past, ok := errors.AsType[*team.NotFoundError](noTeam); ok {
			none.Near = append(none.Near, team.Near(name, past.Near)...)
		}
		none.What, none.Near = "member or team", slices.Compact(none.Near)
	}
	return op, with, name, err
}

func openLogs(ctx context.Context, a *app.App, op operator.Operator, of []string) (*logs, error) {
	list, err := openEach(a, of, func(name string) (*operator.Log, error) { return op.OpenLog(ctx, name) })
	return &logs{list: list}, err
}

// openEach opens something of each team, without names of all teams here. One that cannot be opened is a note; the only
// one, and the first of those where none can be, is an error.
func openEach[T any](a *app.App, of []string, open func(name string) (T, error)) (all []T, err error) {
	if len(of) == 0 {
		if _, of, err = a.Listed(nil); err != nil {
			return nil, err
		}
	}
	var first error
	for _, name := range of {
		one, err := open(name)
		switch {
		case err == nil:
			all = append(all, one)
		case len(of) == 1:
			return nil, err
		default:
			first = cmp.Or(first, err)
			SaySkipped(a, protocol.TeamName(name), err)
		}
	}
	if len(all) == 0 {
		return nil, first
	}
	return all, nil
}

func (ls *logs) several() bool { return len(ls.list) > 1 }

// next returns the new records of all teams in order of time. The error says where a journal is
// broken.
func (ls *logs) next(ctx context.Context) (es []view.LogEntry, broken error) {
	for _, l := range ls.list {
		recs, err := l.Next(ctx)
		broken = errors.Join(broken, err)
		for _, r := range recs {
			es = append(es, view.LogEntry{LogRecord: r, Sentence: ls.say.Of(r)})
		}
	}
	slices.SortStableFunc(es, func(a, b view.LogEntry) int { return a.Time.Compare(b.Time) })
	return es, broken
}

// has refuses a member that no team of the log has. A broken journal may be where it is.
func (ls *logs) has(member string, broken error) error {
	if member == "" || broken != nil {
		return nil
	}
	var names []string
	for _, l := range ls.list {
		names = append(names, l.Owners()...)
	}
	return named(member, names)
}

// named refuses a member that is none of names.
func named(member string, names []string) error {
	if slices.ContainsFunc(names, func(n string) bool { return protocol.SameName(protocol.MemberName(n), protocol.MemberName(member)) }) {
		return nil
	}
	return &team.NotFoundError{What: "member", Name: member, Near: team.Near(member, names)}
}

func (ls *logs) dirs() (dirs []string) {
	for _, l := range ls.list {
		dirs = append(dirs, l.Dirs()...)
	}
	return dirs
}

// Past returns the name of the record that an argument or --team gives, "" for the only one.
func Past(a *app.App, args []string) (operator.Operator, string, error) {
	op, err := a.Op()
	if len(args) > 0 {
		return op, args[0], err
	}
	return op, a.Flags.Team, err
}

// pastTeam is Past for EachTeam: several living teams of which none is chosen are an error.
func pastTeam(a *app.App, args []string) func(context.Context) (operator.Operator, protocol.TeamName, error) {
	return func(context.Context) (operator.Operator, protocol.TeamName, error) {
		op, name, err := Past(a, args)
		if err == nil && name == "" {
			if _, perr := op.Pick(""); operator.KindOf(perr) == operator.Usage {
				err = perr
			}
		}
		return op, protocol.TeamName(name), err
	}
}

// of returns the selected records.
func (v logView) of(es []view.LogEntry) []view.LogEntry {
	return slices.DeleteFunc(es, func(e view.LogEntry) bool {
		return v.kind != "" && e.Kind != v.kind || v.member != "" && !protocol.SameName(protocol.MemberName(e.Name), protocol.MemberName(v.member))
	})
}

func (v logView) show(a *app.App, es []view.LogEntry, broken error, several bool) error {
	if v.raw {
		return a.Give(view.Log(es, broken), view.RawLogPage(es, several))
	}
	return a.Give(view.Log(es, broken), view.LogPage(es, several, a.Clock()))
}

// followEvery is how often a followed log is read when the system reports no change.
const followEvery = 500 * time.Millisecond

// follow prints new records until ctx ends. A broken journal is a note, and the others go on; the leader's of the one
// team that is followed, without which nothing says who is in the team, is the end too.
func follow(ctx context.Context, a *app.App, ls *logs, v logView) error {
	ctx, stop := a.WhileShown(ctx)
	defer stop()
	said := map[string]bool{}
	g := growth{every: followEvery}
	defer g.end()
	for begun := false; ; begun = true {
		es, err := ls.next(ctx)
		if !begun {
			if err := ls.has(v.member, err); err != nil {
				return err
			}
		}
		for _, e := range v.of(es) {
			switch {
			case a.Flags.JSON:
				if err := a.Line(view.LogRecord(e.LogRecord)); err != nil {
					return err
				}
			case v.raw:
				a.Say("%s", a.Spelled(view.LogLine(e.LogRecord), ""))
			default:
				a.Say("%s", a.Spelled(view.LogEntryLine(e, ls.several(), a.Clock()), ""))
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil // Ctrl-C is how one stops following
		case err != nil && !ls.several() && (len(operator.JournalErrors(err)) == 0 || operator.About(err, "") != nil):
			return err
		case err != nil && !said[err.Error()]:
			said[err.Error()] = true
			a.Talk("%s %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
		}
		if err := g.wait(ctx, ls.dirs()); err != nil {
			return err
		}
	}
}
