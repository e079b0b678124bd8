package teams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/uuid"

	"waggle/control"
	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/message"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// stateFiles are the files of STATE in a backup, in the order in which they are read: the leader's
// journal before the members', so that what the leader took from a member is in the member's
// journal too.
var stateFiles = []string{"journal/leader", "journal", "team.yaml", "archive"}

// Backup writes a team to w as a tar (team.Backup): its files in the wire tree, and,
// when waggle leads it, its journals.
func (o Operator) Backup(ctx context.Context, name protocol.TeamName, w io.Writer) (team.BackupReport, error) {
	reg, err := team.Open(o.Root, name, o.files())
	if err != nil {
		return team.BackupReport{}, err
	}
	opts := team.BackupOptions{RootURL: o.RootURL}
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil && !operator.Unled(err) {
		return team.BackupReport{}, err
	}
	if s != nil {
		opts.UID, opts.State, opts.StateFiles = string(s.Dir.UID), s.Dir.Path, stateFiles
	}
	return reg.Backup(ctx, w, opts)
}

// files are the settings of file operations.
func (o Operator) files() team.Options { return team.Options{Now: o.Minter.Now} }

// Values of Restored.Authority.
const (
	// AuthorityKept: STATE has the journal of this very team, and it has not ended; it stays the
	// authority, whatever the backup contains.
	AuthorityKept = "kept"
	// AuthorityNew: the team has a new identity and a new journal. No decision, grant or policy of
	// the backup counts; its journals are kept for reading.
	AuthorityNew = "new"
	// AuthorityNone: waggle did not lead it, and does not now.
	AuthorityNone = "none"
)

// RestoreOptions are the settings of Restore.
type RestoreOptions struct {
	As     protocol.TeamName // "": the name in the backup
	Force  bool              // archive an existing team, after its processes were ended
	Report func(r inspect.Running, ends bool)
}

// Restored says what a restore did.
type Restored struct {
	Team      string            `json:"team"`
	From      string            `json:"from"` // its name in the backup
	Files     int               `json:"files"`
	Verified  bool              `json:"verified"`  // the backup has a correct sum for every file
	Authority string            `json:"authority"` // kept, new or none
	History   string            `json:"history"`   // the path of the backup's journals; "" when there are none
	Replaced  string            `json:"replaced"`  // the archive of the replaced team; "" when there was none
	Ended     []inspect.Running `json:"ended"`
	Skipped   []team.Skipped    `json:"skipped"`
}

// Restore makes a team of a backup (team.Unpack lists what it refuses). An existing team is an
// error, unless Force is set, which archives it.
//
// Authority never comes from a file: the journals of the backup are kept for reading only. A team
// that waggle led gets a new identity and journal, unless STATE has the journal of the same team
// (trust §2), which then continues. Control messages in the lead's mailbox are older than a new
// journal, and are not judged.
func (o Operator) Restore(ctx context.Context, in io.Reader, do RestoreOptions) (_ *Restored, err error) {
	u, rs, name, err := o.unpack(ctx, o.Root, in, do)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	held, err := o.Claim("restore", name)
	if err != nil {
		return nil, err
	}
	defer held.Free()
	if err := o.makeRoom(ctx, name, do, rs); err != nil {
		return nil, err
	}
	if !u.Header.Led {
		_, err = u.Restore(ctx, name, nil, o.files())
		return rs, exists(err, name)
	}
	return rs, o.restoreLed(ctx, u, name, rs)
}

// unpack reads a backup, and returns what a restore of it begins with and the name of the team that it makes.
func (o Operator) unpack(ctx context.Context, into team.Root, in io.Reader, do RestoreOptions) (*team.Unpacked, *Restored, protocol.TeamName, error) {
	u, err := team.Unpack(ctx, into, in, o.Minter.Now())
	var bad *team.BackupError
	if errors.As(err, &bad) {
		err = &operator.Error{Kind: operator.Refused, Op: "restore", Err: err, Advice: "nothing of it was kept"}
	}
	if err != nil {
		return nil, nil, "", err
	}
	rs := &Restored{From: string(u.Header.Team), Files: u.Files, Verified: u.Verified, Authority: AuthorityNone, Ended: []inspect.Running{}, Skipped: append([]team.Skipped{}, u.Skipped...)}
	name := do.As
	if name == "" {
		name = u.Header.Team
	} else if _, err := team.CheckName(string(name)); err != nil {
		return nil, nil, "", errors.Join(err, u.Close())
	}
	rs.Team = string(name)
	return u, rs, name, nil
}

// RestorePlan is what a restore would do.
type RestorePlan struct {
	Team      string            `json:"team"`
	From      string            `json:"from"`
	Files     int               `json:"files"`
	Verified  bool              `json:"verified"`
	Authority string            `json:"authority"` // kept, new or none
	Replaces  bool              `json:"replaces"`  // a team of that name would be moved into the archive
	Running   []inspect.Running `json:"running"`   // its processes, which would be ended
	Skipped   []team.Skipped    `json:"skipped"`
}

// PlanRestore says what Restore would do, or returns the error that it would refuse with. It reads the backup into
// scratch, a directory of the caller's, and changes nothing in the tree and in STATE.
func (o Operator) PlanRestore(ctx context.Context, in io.Reader, do RestoreOptions, scratch string) (_ *RestorePlan, err error) {
	u, rs, name, err := o.unpack(ctx, team.Root{Path: scratch}, in, do)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	p := &RestorePlan{Team: rs.Team, From: rs.From, Files: rs.Files, Verified: rs.Verified, Authority: rs.Authority, Skipped: rs.Skipped}
	if left, err := mail.Of(o.Operator).Leftover(ctx, name); err != nil {
		return nil, err
	} else if left == nil { // else its end is completed first, and its place is free then
		if p.Replaces, err = o.inTheWay(ctx, name, do); err != nil {
			return nil, err
		}
		if p.Replaces {
			there, err := inspect.Of(o.Operator).Team(ctx, name)
			if err != nil {
				return nil, err
			}
			p.Running = there.Live
		} else if err := u.Fits(o.Root, name); err != nil {
			return nil, exists(err, name)
		}
	}
	if !u.Header.Led {
		return p, nil
	}
	_, same, err := o.present(ctx, u, name)
	if p.Authority = AuthorityNew; same && !p.Replaces {
		p.Authority = AuthorityKept
	}
	return p, err
}

// present opens the team of a name, nil for none; same reports that it is the very one of the backup.
func (o Operator) present(ctx context.Context, u *team.Unpacked, name protocol.TeamName) (s *operator.State, same bool, err error) {
	if s, err = o.Open(ctx, name, operator.Act); operator.Unled(err) {
		err = nil
	}
	return s, s != nil && u.Header.UID == string(s.Dir.UID) && u.Header.Root == o.RootURL && u.Header.Team == name, err
}

// inTheWay reports a team that a restore archives first, which is an error without Force.
func (o Operator) inTheWay(ctx context.Context, name protocol.TeamName, do RestoreOptions) (bool, error) {
	facts, err := o.Facts(ctx, name)
	if err != nil {
		return false, err
	}
	cause := facts.State().May(team.OnRestore)
	if cause != nil && !do.Force {
		return true, &operator.Error{Kind: operator.Refused, Op: "restore", Err: cause, Msg: fmt.Sprintf("there is a team %s, which is %s", name, facts.State()),
			Next: operator.NextRestoreElsewhere.With()}
	}
	return cause != nil, nil
}

// exists adds to an error the next step for an existing team or task list.
func exists(err error, name protocol.TeamName) error {
	if !errors.Is(err, team.ErrExists) {
		return err
	}
	return &operator.Error{Kind: operator.Refused, Op: "restore", Err: err,
		Next: operator.Next{Step: operator.NextRestoreMakeRoom, Team: name}}
}

// makeRoom archives an existing team, when Force is set.
func (o Operator) makeRoom(ctx context.Context, name protocol.TeamName, do RestoreOptions, rs *Restored) error {
	if _, err := process.Of(o.Operator).Finish(ctx, name); err != nil {
		return err
	}
	if there, err := o.inTheWay(ctx, name, do); !there || err != nil {
		return err
	}
	d, err := o.Delete(ctx, name, DeleteOptions{Force: true, Tasks: true, Keep: true, Report: do.Report})
	if err != nil {
		return err
	}
	rs.Replaced, rs.Ended = d.Archive, d.Ended
	return nil
}

// restoreLed restores a team that waggle led, with its own journal or a new one.
func (o Operator) restoreLed(ctx context.Context, u *team.Unpacked, name protocol.TeamName, rs *Restored) error {
	s, same, err := o.present(ctx, u, name)
	if err != nil {
		return err
	}
	if same {
		if err := o.Guard(ctx, s, "restore"); err != nil {
			return err
		}
		rs.Authority = AuthorityKept
		_, err := u.Restore(ctx, name, nil, o.files())
		return exists(err, name)
	}
	if s != nil { // another team of that name, whose files are gone
		if _, err := process.Of(o.Operator).Archive(ctx, s, record.LeftReplaced); err != nil {
			return err
		}
	}
	rs.Authority = AuthorityNew
	uid, err := o.Minter.UID()
	if err != nil {
		return err
	}
	session, err := uuid.Parse(uid)
	if err != nil {
		return err
	}
	old, err := oldControls(ctx, u)
	if err != nil {
		return err
	}
	// The files first: a journal without files would count as a team whose files were deleted.
	if _, err = u.Restore(ctx, name, func(c *team.Config) { c.LeadSessionID = session.String() }, o.files()); err != nil {
		return exists(err, name)
	}
	s, err = o.found(ctx, name, uid, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}}, old)
	if err != nil {
		return err
	}
	place := filepath.Join(s.Dir.Archive(), "restored-"+o.Minter.Now().UTC().Format("20060102T150405.000Z"))
	if kept, err := u.KeepState(place); err != nil || !kept {
		return err
	}
	rs.History = place
	return nil
}

// oldControls returns the control messages in the unpacked mailboxes, by the names that a leader's
// journal gives them.
func oldControls(ctx context.Context, u *team.Unpacked) ([]string, error) {
	boxes := mailbox.Boxes{Team: u.TeamDir()}
	names, err := boxes.Names()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		box, err := boxes.Open(name, mailbox.Options{})
		if err != nil {
			return nil, err
		}
		entries, err := box.Entries(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			in := message.Incoming{Decoded: protocol.Decode(e.Envelope)}
			switch {
			case e.Err != nil || !in.IsControl():
			case name == protocol.Lead:
				ids = append(ids, e.ID.String())
			default:
				ids = append(ids, control.AlarmEntry(name, e.ID.String()))
			}
		}
	}
	return ids, nil
}

// found makes the state of a team whose files exist: its directory, and a journal that begins with
// it. old are entries of mailboxes that are not judged.
func (o Operator) found(ctx context.Context, name protocol.TeamName, uid string, p record.PolicySet, old []string) (*operator.State, error) {
	instance, err := o.Minter.UID()
	if err != nil {
		return nil, err
	}
	dir, err := o.Home.Create(o.RootURL, name, record.TeamUID(uid))
	if err != nil {
		return nil, err
	}
	s := o.OpenKnown(home.Known{Dir: dir, Team: name})
	if s.Damaged != nil {
		return nil, s.Damaged
	}
	if s.Lead.Instance == "" && !dir.Unmade() {
		// Until the first record is complete, there is no team, and the files of the wire tree may
		// be another program's.
		if err := atomicfile.WriteFile(dir.Making(), []byte("beside\n"), atomicfile.Options{Sync: atomicfile.SyncData}); err != nil {
			return nil, err
		}
	}
	if p.Policy.Version == 0 {
		p.Policy.Version = 1
	}
	p.By, p.Ceiling = policy.RoleOperator, decide.Of(o.Operator).CeilingOf(nil)
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		if s.Lead.Instance != "" {
			return nil, &operator.Error{Kind: operator.Locked, Op: "create", Msg: fmt.Sprintf("team %s has just been made by another process", name),
				Next: operator.Next{Step: operator.NextStatus, Team: name}}
		}
		ds := []journal.Draft{
			{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: name, Root: o.RootURL, UID: record.TeamUID(uid),
				Instance: record.Instance(instance), Name: protocol.Lead, Epoch: 1, Version: o.Version, Baseline: old}},
			{Kind: record.KindPolicy, Must: true, Body: p},
		}
		if o.Brake.Set() {
			ds = append(ds, journal.Draft{Kind: record.KindBudget, Must: true, Body: record.Budgets{Brake: &o.Brake}})
		}
		return ds, nil
	})
	if err != nil {
		return s, err
	}
	return s, s.Dir.Made()
}
