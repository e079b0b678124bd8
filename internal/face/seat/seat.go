package seat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/face/mcp"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
	"waggle/worker"
)

// Add registers a member whose client connects later. Only the operator may call it.
func (o Operator) Add(ctx context.Context, name protocol.TeamName, m teamfile.FileMember) (team.Member, error) {
	s, err := o.Open(ctx, name, operator.Command("team add"))
	if err != nil {
		return team.Member{}, err
	}
	m.Agent, m.Backend, m.Spec, m.Restart = agent.KindMCP, operator.BackendMCP, nil, nil
	added, _, err := teams.Of(o.Operator).Join(ctx, s, m)
	return added, err
}

// sit gives the connection an instance: the one that waits for its first client, or a new one that
// replaces the instance of the last connection.
func (o Operator) sit(ctx context.Context, name protocol.TeamName, as protocol.MemberName) (*operator.State, record.Instance, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, "", err
	}
	if err := o.GuardMembers(ctx, s, "mcp"); err != nil {
		return nil, "", err
	}
	uid, err := o.Minter.UID()
	if err != nil {
		return nil, "", err
	}
	m, err := vacant(s, as)
	if err != nil {
		return nil, "", err
	}
	had, err := o.had(ctx, s, m)
	if err != nil {
		return nil, "", err
	}
	i := record.Instance("")
	_, err = s.Journal.Append(ctx, o.Writer(), func() (ds []journal.Draft, err error) {
		now, err := vacant(s, as)
		if err != nil {
			return nil, err
		}
		if i = now.Instance; now.Process == nil || i != m.Instance {
			return nil, nil
		}
		i = record.Instance(uid)
		return again(s, now, i, had, "its client's process has ended"), nil
	})
	return s, i, err
}

// vacant returns the member of a name if no client is connected as it.
func vacant(s *operator.State, as protocol.MemberName) (*control.Member, error) {
	m, ok := s.Lead.Member(as)
	refuse := func(kind operator.Kind, next operator.Next, format string, args ...any) (*control.Member, error) {
		return nil, &operator.Error{Kind: kind, Op: "mcp", Msg: fmt.Sprintf(format, args...), Next: next}
	}
	switch {
	case !ok || m.Left != nil:
		return refuse(operator.NotFound, operator.NextAddClient.With(), "%s is no member of team %s", as, s.Team)
	case m.Backend != operator.BackendMCP:
		return refuse(operator.Refused, operator.NextAddClient.With(), "%s is a member that waggle runs (%s): no client becomes it", as, m.Backend)
	case m.Stopping != nil || s.Lead.Closing != nil:
		return refuse(operator.Refused, operator.Next{}, "%s is being ended", as)
	case m.Process != nil && !operator.Gone(m.Process.ID):
		return refuse(operator.Locked, operator.Next{}, "a client is connected as %s: process %d", as, m.Process.ID.PID)
	}
	return m, nil
}

// again ends the instance of a connection and begins the next instance of its name: no permission
// passes to the next one. Messages that the earlier one has read are not delivered again.
func again(s *operator.State, m *control.Member, i record.Instance, had []string, why string) []journal.Draft {
	next := m.Joined
	next.Instance, next.Baseline = i, had
	return append(s.Lead.Let(m, record.LeftStopped, why), journal.Draft{Kind: record.KindJoined, Must: true, Body: next})
}

// had lists the entries of a member's mailbox that its sessions so far have taken.
func (o Operator) had(ctx context.Context, s *operator.State, m *control.Member) ([]string, error) {
	peer, err := s.Worker(m.Instance)
	if err != nil {
		return nil, err
	}
	box, err := o.ReadBox(&team.Config{Name: s.Team}, m.Name, nil)
	if err != nil {
		return nil, err
	}
	entries, err := box.Entries(ctx)
	if err != nil {
		return nil, err
	}
	var had []string
	for _, e := range entries {
		if id := e.ID.String(); peer.Owns(id) || slices.Contains(m.Baseline, id) {
			had = append(had, id)
		}
	}
	return had, nil
}

// Serve runs a member for the connected client, until the client ends the connection, the member
// agrees to its shutdown, or ctx ends. Then the next client can connect, unless the member has
// left. A name whose agent is no MCP client is Refused; a name with a connected client is Locked.
func (o Operator) Serve(ctx context.Context, name protocol.TeamName, as protocol.MemberName, sv Serving) error {
	s, i, err := o.sit(ctx, name, as)
	if err != nil {
		return err
	}
	m, _ := s.Lead.ByInstance(i)
	client := mcp.NewClient()
	wo := process.Of(o.Operator).Worker(s, i)
	wo.Agent, wo.GateWait, wo.Begun, wo.Dir, wo.Backend = client, gateWait, sv.Begun, m.Cwd, operator.BackendMCP
	if sv.Log != nil {
		wo.Log = sv.Log
	}
	work, end := context.WithCancel(ctx)
	defer end()
	connected := make(chan error, 1)
	go func() {
		defer end()
		connected <- sv.Connect(work, &desk{Client: client, o: o, team: name, self: m.Name})
	}()
	err = worker.Join(work, wo)
	client.Close()
	end()
	cerr := <-connected
	if ctx.Err() == nil && errors.Is(err, context.Canceled) {
		err = nil // the client has gone
	}
	if errors.Is(cerr, context.Canceled) {
		cerr = nil // the member has ended
	}
	if errors.Is(err, worker.ErrRunning) {
		return err
	}
	return errors.Join(err, cerr, o.rise(context.WithoutCancel(ctx), s, i))
}

// heardWait is how long the end of a connection waits until the leader has read its messages.
const heardWait = 5 * time.Second

// rise makes the member available for the next client, after the leader has read the messages of
// the last one. A member that has left is not available again.
func (o Operator) rise(ctx context.Context, s *operator.State, i record.Instance) error {
	uid, err := o.Minter.UID()
	if err != nil {
		return err
	}
	peer, err := s.Worker(i)
	if err != nil {
		return err
	}
	process.Of(o.Operator).Await(ctx, heardWait, func() bool {
		_, err := o.Pass(ctx, s)
		return err != nil || !s.Lead.Unheard(peer)
	})
	m, ok := s.Lead.ByInstance(i)
	if !ok || m.Left != nil {
		return nil
	}
	had, err := o.had(ctx, s, m)
	if err != nil {
		return err
	}
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		m, ok := s.Lead.ByInstance(i)
		if !ok || m.Left != nil || m.Stopping != nil || m.Approved || s.Lead.Closing != nil {
			return nil, nil
		}
		return again(s, m, record.Instance(uid), had, "its client has gone"), nil
	})
	return err
}
