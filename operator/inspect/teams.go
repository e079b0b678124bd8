package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/spawn"
	"waggle/team"
)

// TeamRow is one team as `team list` shows it (commands §4).
type TeamRow struct {
	Name    string `json:"name"`
	Dialect string `json:"dialect"` // named, session, or unreadable
	Layout  string `json:"layout"`  // array or jsonl
	Members int    `json:"members"` // present ones, the lead included
	Live    int    `json:"live"`    // processes of it that run
}

// Teams lists the teams of the wire tree by name. A team whose files cannot be read is listed too;
// problems has its error, and those of directories whose names are no names of teams.
func (o Operator) Teams(ctx context.Context) (rows []TeamRow, problems []error, err error) {
	names, err := o.Root.Names()
	if err != nil {
		return nil, nil, err
	}
	rows = []TeamRow{}
	for _, n := range names {
		row := TeamRow{Name: string(n), Dialect: "unreadable", Layout: "array"}
		tv, err := o.Team(ctx, n)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", n, err))
		} else {
			row = TeamRow{Name: string(n), Dialect: string(tv.Config.Dialect()), Layout: tv.Layout, Members: len(tv.Config.Present()), Live: len(tv.Live)}
		}
		rows = append(rows, row)
	}
	unnamed, err := o.Root.Unnamed()
	for _, e := range unnamed {
		problems = append(problems, fmt.Errorf("waggle cannot reach a team of another program: %w", e))
	}
	return rows, problems, err
}

// TeamView is a team's registry and its running processes. Its document is what the end of the team would end.
type TeamView struct {
	Team   protocol.TeamName `json:"team"`
	Led    bool              `json:"led"` // a process of waggle holds the leader lease
	Live   []Running         `json:"running"`
	Config *team.Config      `json:"-"`
	Layout string            `json:"-"` // array or jsonl
	Ours   bool              `json:"-"` // waggle leads it: STATE has its journal
	// Sockets are the addresses, uds:PATH, that take messages now, by member; "operator" is the
	// operator's, whose messages go into the lead's mailbox.
	Sockets map[string]string `json:"-"`
}

// Running is a process of a team.
type Running struct {
	Name protocol.MemberName `json:"name"`
	PID  int                 `json:"pid"`
}

// Team reads a team's registry and finds its running processes: for a team that waggle leads those
// in its journal, for another program's the lead that the registry names.
func (o Operator) Team(ctx context.Context, name protocol.TeamName) (*TeamView, error) {
	cfg, err := o.Registry(ctx, name)
	if err != nil {
		return nil, err
	}
	if o.Homeless(name) {
		return nil, &team.NotFoundError{What: "team", Name: string(name)}
	}
	as, err := o.Boxes(name).Layout()
	if err != nil {
		return nil, err
	}
	tv := &TeamView{Team: name, Config: cfg, Layout: as.String(), Live: []Running{}, Sockets: map[string]string{}}
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil && !operator.Unled(err) {
		return nil, err
	}
	if s == nil {
		if f := ForeignProcess(tv.Config); f.PID != 0 && f.Process != spawn.Gone {
			tv.Live = append(tv.Live, Running{Name: protocol.Lead, PID: f.PID})
		}
		return tv, nil
	}
	tv.Ours = true
	for _, m := range s.Lead.Live() {
		if m.Process != nil && m.Process.ID.Alive() {
			tv.Live = append(tv.Live, Running{Name: m.Name, PID: m.Process.ID.PID})
		}
	}
	if tv.Sockets, err = mail.Of(o.Operator).Addresses(s); err != nil {
		return nil, err
	}
	_, tv.Led, err = o.Live(s)
	return tv, err
}

// ForeignProcess returns the state of the process that another program's registry names as the lead
// (protocol §3, leadProcess): PID is 0 when it names none. A pid with another start time belongs to
// a new process, and the lead is gone.
func ForeignProcess(cfg *team.Config) MemberFacts {
	raw, ok := cfg.Unknown("leadProcess")
	if !ok {
		return MemberFacts{}
	}
	object, err := jsonobj.Parse(raw)
	if err != nil {
		return MemberFacts{}
	}
	number, _ := object.Get("pid")
	pid, err := strconv.Atoi(string(number))
	if err != nil || pid <= 0 {
		return MemberFacts{}
	}
	id, err := spawn.Identify(pid)
	switch {
	case errors.Is(err, spawn.ErrGone):
		return MemberFacts{PID: pid, Process: spawn.Gone}
	case err != nil:
		return MemberFacts{PID: pid, Unseen: err.Error()}
	}
	start, _ := object.Get("procStart")
	began, ok := jsonobj.String(start)
	if !ok && jsonobj.TypeOf(start) == "number" {
		began = string(start)
	}
	switch {
	case began == "":
		return MemberFacts{PID: pid, Unseen: "its start time is not in the registry"}
	case began != id.Start:
		if _, nerr := strconv.ParseUint(began, 10, 64); nerr == nil {
			return MemberFacts{PID: pid, Process: spawn.Gone}
		}
	}
	state, err := id.State()
	if err != nil {
		return MemberFacts{PID: pid, Unseen: err.Error()}
	}
	return MemberFacts{PID: pid, Process: state}
}

// Active returns the members that have not left.
func (tv *TeamView) Active() []protocol.MemberName {
	return slices.Concat([]protocol.MemberName{}, tv.Config.Present())
}

// Listed returns the members that a team's registry has and that have not left, whoever leads it.
func (o Operator) Listed(ctx context.Context, name protocol.TeamName) ([]team.Member, error) {
	cfg, err := o.Listing(ctx, name)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(cfg.Members, team.Member.Gone), nil
}

// Named is a present or past team by its names.
type Named struct {
	ID     string // names this record only
	Name   string // the team's name, which means the newest team that has it; "" when another line has it already
	Opened string // when the team was made
}

// PastNames returns the names of all present and past teams whose records can be read.
func (o Operator) PastNames() ([]Named, error) {
	led, err := o.Home.List()
	if err != nil {
		return nil, err
	}
	foreign, err := o.Home.Foreign()
	if err != nil {
		return nil, err
	}
	var out []Named
	said := map[protocol.TeamName]bool{}
	for _, k := range slices.Concat(led, foreign) {
		if k.Broken != nil {
			continue
		}
		n := Named{ID: k.ID(), Opened: k.Opened}
		if k.Root == o.RootURL && !said[k.Team] {
			n.Name, said[k.Team] = string(k.Team), true
		}
		out = append(out, n)
	}
	return out, nil
}
