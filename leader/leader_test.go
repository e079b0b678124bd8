package leader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// TestPassAgain: a pass without work does nothing, also in the next process, and sends no message
// twice.
func TestPassAgain(t *testing.T) {
	r := newRig(t, "ann")
	r.assign("ann", "1")
	r.pass()
	r.take("ann")
	r.asks("ann", "make it")
	r.idle("ann", "1")
	r.pass()
	n := len(r.record.Records())
	for i := range 3 {
		r.pass()
		r.tick(time.Minute)
		if i == 1 {
			r.open()
		}
	}
	if got := r.record.Records()[n:]; len(got) > 0 {
		t.Errorf("passes with nothing to do wrote %d records, first %s", len(got), got[0].Kind)
	}
	if got := r.got("ann"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("ann got %q", got)
	}
	if un, err := r.box.Unread(t.Context()); err != nil || len(un) > 0 {
		t.Errorf("%d unread (%v) after the passes", len(un), err)
	}
}

// TestChatStaysUnread: plain words wait for the operator.
func TestChatStaysUnread(t *testing.T) {
	r := newRig(t, "ann")
	testenv.Must(t, r.box.Append(t.Context(), protocol.Envelope{From: "ann", Text: "hello"}))
	r.pass()
	if un, err := r.box.Unread(t.Context()); err != nil || len(un) != 1 {
		t.Errorf("%d unread (%v), want the words", len(un), err)
	}
}

// TestSentAndNotSaid: an order that the process before put into the mailbox
// without having said so, or that the member fetched, is not put there again.
func TestSentAndNotSaid(t *testing.T) {
	for _, d := range []time.Duration{0, time.Millisecond, time.Minute} {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t, "ann")
			r.boxes["ann"].err = errors.New("locked")
			r.assign("ann", "1")
			o := r.view().Outbox()[0]
			env, err := o.Mail.Open()
			if err == nil {
				err = r.boxes["ann"].Store.Append(t.Context(), env)
			}
			testenv.Must(t, err)
			r.boxes["ann"].err = nil
			r.tick(d)
			r.open()
			r.pass()
			if got := r.got("ann"); len(got) != 1 {
				t.Errorf("ann got %q, want one", got)
			}
			if n := len(r.view().Outbox()); n > 0 {
				t.Errorf("%d orders are still on their way", n)
			}
		})
	}
}

// TestSentMeanwhile: an order that another process puts into the mailbox after the leader has looked there, and before
// it has the lock, is there once.
func TestSentMeanwhile(t *testing.T) {
	r := newRig(t, "ann")
	r.boxes["ann"].err = errors.New("locked")
	r.assign("ann", "1")
	env, err := r.view().Outbox()[0].Mail.Open()
	testenv.Must(t, err)
	r.boxes["ann"].err = nil
	r.boxes["ann"].before = func() {
		if err := r.boxes["ann"].Store.Append(t.Context(), env); err != nil {
			t.Error(err)
		}
	}
	r.open()
	r.pass()
	if got := r.got("ann"); len(got) != 1 || len(r.view().Outbox()) > 0 {
		t.Errorf("ann got %q, want one; %d orders are still on their way", got, len(r.view().Outbox()))
	}
}

// TestLockedMailbox: a mailbox that cannot be written delays no other, is tried once a pass and
// after the others, and keeps its order.
func TestLockedMailbox(t *testing.T) {
	r := newRig(t, "ann", "bob")
	r.boxes["ann"].err = &mailbox.LockedError{Path: "ann", Holder: "another program", Waited: time.Second}
	r.assign("ann", "1")
	r.assign("ann", "2")
	r.assign("bob", "3")
	r.assign("ann", "4")
	r.boxes["ann"].tried = 0
	r.pass()
	if n := r.boxes["ann"].tried; n != 1 {
		t.Errorf("a locked mailbox was tried %d times in a pass", n)
	}
	if got := r.got("bob"); !slices.Equal(got, []string{"3"}) {
		t.Errorf("bob got %q", got)
	}
	r.boxes["bob"].err = errors.New("gone for a moment")
	r.assign("bob", "5")
	r.boxes["bob"].err = nil
	for range 3 {
		r.pass()
	}
	if n := strings.Count(r.log.String(), "not delivered, will retry"); n != 2 {
		t.Errorf("%d lines in the log for two troubles:\n%s", n, r.log)
	}
	r.boxes["ann"].err = nil
	r.pass()
	if got := r.got("ann"); !slices.Equal(got, []string{"1", "2", "4"}) {
		t.Errorf("ann got %q, want them in order", got)
	}
	if got := r.got("bob"); !slices.Equal(got, []string{"3", "5"}) {
		t.Errorf("bob got %q", got)
	}
}

// TestLateComesLast: a member that delayed a pass is last in the next one.
func TestLateComesLast(t *testing.T) {
	r := newRig(t, "ann", "bob")
	r.boxes["ann"].err = errors.New("locked")
	r.assign("ann", "1")
	var order []string
	for n, b := range r.boxes {
		b.Store = noting{b.Store, func() { order = append(order, string(n)) }}
	}
	r.boxes["bob"].err = errors.New("locked")
	r.assign("bob", "2")
	r.boxes["bob"].err, r.boxes["ann"].err = nil, nil
	r.open() // a new process has no record of delays: file order
	r.pass()
	if !slices.Equal(order, []string{"ann", "bob"}) {
		t.Errorf("sent in order %q", order)
	}
	r.boxes["ann"].err = errors.New("locked")
	r.assign("ann", "3")
	order = nil
	r.operate(func(l *control.Leader) ([]journal.Draft, error) {
		m, _ := l.Member("bob")
		return l.Assign(m, record.Task{ID: "4", Instructions: "x"}, policy.RoleOperator, r.mintOf())
	})
	r.boxes["ann"].err = nil
	r.pass()
	if !slices.Equal(order, []string{"bob", "ann"}) {
		t.Errorf("sent in order %q, want who was late last", order)
	}
}

type noting struct {
	mailbox.Store
	note func()
}

func (n noting) Append(ctx context.Context, es ...protocol.Envelope) error {
	n.note()
	return n.Store.Append(ctx, es...)
}

// TestDeath: one pass records a member whose process has died as left, after its last message was
// read; a member that sent none is found as well.
func TestDeath(t *testing.T) {
	r := newRig(t, "ann", "bob")
	r.assign("ann", "1")
	r.pass()
	r.take("ann")
	key := r.asks("ann", "make it")
	r.dead[1], r.dead[2] = true, true
	r.pass()
	if a, b := r.left("ann"), r.left("bob"); a != record.LeftDied || b != record.LeftDied {
		t.Errorf("ann left as %q, bob as %q; want died after one pass", a, b)
	}
	req, ok := r.fold.Request(key)
	if !ok || req.State != machine.RequestClosed {
		t.Errorf("what ann asked last was not read, or is open: %+v", req)
	}
	kinds := map[string]int{}
	for i, rec := range r.record.Records() {
		kinds[rec.Kind] = i
	}
	if kinds[record.KindSeen] > kinds[record.KindLeft] {
		t.Error("let go before its last words were read")
	}
	if !slices.Equal(r.gone, []string{"ann died", "bob died"}) {
		t.Errorf("the registry was told %q", r.gone)
	}
}

// TestDeathNeedsTheMailbox: while the mailbox cannot be read no member is recorded as left.
func TestDeathNeedsTheMailbox(t *testing.T) {
	r := newRig(t, "ann")
	flaky := &unreadableBox{Store: r.box}
	r.box = flaky
	r.open()
	r.dead[1] = true
	flaky.good = 1
	if err := r.l.Pass(t.Context()); err == nil {
		t.Fatal("a pass over an unreadable mailbox succeeded")
	}
	if r.left("ann") != "" {
		t.Error("let go although its last words were not read")
	}
	flaky.good = 100
	r.tick(2 * time.Second)
	r.pass()
	if r.left("ann") != record.LeftDied {
		t.Error("not let go")
	}
}

type unreadableBox struct {
	mailbox.Store
	good int // so many readings succeed
}

func (u *unreadableBox) Entries(ctx context.Context) ([]mailbox.Entry, error) {
	if u.good--; u.good < 0 {
		return nil, syscall.EIO
	}
	return u.Store.Entries(ctx)
}

// TestSuccessorProcess: a member that was found dead and was started again before it was recorded
// as left stays, and has the same grace the next time.
func TestSuccessorProcess(t *testing.T) {
	r := newRig(t, "ann")
	flaky := &unreadableBox{Store: r.box, good: 1}
	r.box = flaky
	r.open()
	r.dead[1] = true
	_ = r.l.Pass(t.Context()) // found dead, and the second reading fails
	r.records(vital(record.KindProcess, record.Process{Instance: r.member["ann"].inst, Epoch: 2, ID: spawn.Identity{PID: 7}}))
	flaky.good = 100
	r.tick(2 * time.Second)
	r.pass()
	if r.left("ann") != "" {
		t.Fatal("let go although a new process runs")
	}
	r.dead[7] = true
	flaky.good = 1
	if err := r.l.Pass(t.Context()); err == nil || r.left("ann") != "" {
		t.Errorf("let go by the pass that found it gone (%v)", err)
	}
	flaky.good = 100
	r.tick(2 * time.Second)
	r.pass()
	if r.left("ann") != record.LeftDied {
		t.Error("not let go")
	}
}

// TestHandshake: a member that approved its shutdown and has ended left by handshake.
func TestHandshake(t *testing.T) {
	r := newRig(t, "ann")
	for range 2 { // the second pass changes nothing
		testenv.Must(t, r.l.Shutdown(t.Context(), "ann", "done", policy.RoleOperator))
	}
	if got := r.got("ann"); len(got) != 1 {
		t.Errorf("ann was asked %d times", len(got))
	}
	r.take("ann")
	m := r.member["ann"]
	r.write(m, func() ([]journal.Draft, error) {
		return m.fold.AnswerShutdown(true, "", control.Shown{}, r.view(), r.mintOf())
	})
	r.send(m)
	r.dead[1] = true
	r.pass()
	if how := r.left("ann"); how != record.LeftHandshake {
		t.Errorf("left as %q", how)
	}
	if err := r.l.Assign(t.Context(), "ann", record.Task{ID: "9"}); err == nil {
		t.Error("a departed member was given work")
	}
	if err := r.l.Shutdown(t.Context(), "nobody", "", policy.RoleOperator); err == nil {
		t.Error("a member that never was is asked to end")
	}
}

// TestGoneIsToldUntilItHears: the leader repeats the update of the registry for a departed member
// (Gone) until the registry could be written, the next leader does so too, and neither updates a
// name that has a new owner.
func TestGoneIsToldUntilItHears(t *testing.T) {
	r := newRig(t, "ann", "bob")
	r.parted = errors.New("config.json is locked")
	r.dead[1], r.dead[2] = true, true
	for range 3 {
		r.pass()
	}
	if n := strings.Count(r.log.String(), "registry does not show"); n != 2 {
		t.Errorf("%d lines in the log for two members:\n%s", n, r.log)
	}
	r.parted = nil
	r.pass()
	if !slices.Equal(r.gone, []string{"ann died", "bob died"}) {
		t.Errorf("told %q", r.gone)
	}
	r.pass()
	if len(r.gone) != 2 {
		t.Errorf("told again: %q", r.gone)
	}
	r.join("bob", "bb", 8)
	r.gone = nil
	r.open() // it does not know whether the process before it did that
	r.pass()
	r.pass()
	if !slices.Equal(r.gone, []string{"ann died"}) {
		t.Errorf("the next leader told %q, want ann alone: bob's name is another's", r.gone)
	}
}

// TestGoneByAnother: the leader updates the registry for a member whose end another process has recorded, as `stop --force` does
// for one that has no process.
func TestGoneByAnother(t *testing.T) {
	r := newRig(t, "ann", "bob")
	r.pass()
	r.operate(func(fold *control.Leader) ([]journal.Draft, error) {
		ann, _ := fold.Member("ann")
		return fold.Let(ann, record.LeftStopped, "gone"), nil
	})
	r.pass()
	r.pass()
	if !slices.Equal(r.gone, []string{"ann stopped"}) {
		t.Errorf("told %q, want that ann was stopped, once", r.gone)
	}
}

// TestBrokenMember: a member's journal that is broken, or cannot be read now, stops no other
// member. Messages of that member wait until the journal can be read again.
func TestBrokenMember(t *testing.T) {
	r := newRig(t, "ann", "bob")
	r.member["ann"].read = syscall.EMFILE
	r.idle("ann", "")
	r.idle("ann", "")
	r.idle("bob", "")
	for range 3 {
		r.pass()
	}
	idle := func(name protocol.MemberName) bool {
		m, _ := r.fold.Member(name)
		return m.LastIdle != nil
	}
	if idle("ann") || len(r.fold.Unverified) > 0 || !idle("bob") {
		t.Errorf("ann heard: %v, bob heard: %v, %d unverified; want ann to wait", idle("ann"), idle("bob"), len(r.fold.Unverified))
	}
	if n := strings.Count(r.log.String(), "journal of a member cannot be read"); n != 1 {
		t.Errorf("%d lines in the log for one trouble:\n%s", n, r.log)
	}
	r.member["ann"].read = nil
	r.pass()
	if !idle("ann") || len(r.fold.Unverified) > 0 {
		t.Errorf("ann heard: %v, %d unverified", idle("ann"), len(r.fold.Unverified))
	}
	r.idle("ann", "")
	unheard := func() (n int) {
		es, err := r.box.Entries(t.Context())
		for _, e := range es {
			if !e.Envelope.Read {
				n++
			}
		}
		testenv.Must(t, err)
		return n
	}
	r.member["ann"].read = &journal.BrokenError{Journal: "a", Why: "a byte was flipped"}
	r.assign("bob", "1")
	r.pass()
	if len(r.fold.Unverified) != 0 || unheard() != 1 {
		t.Errorf("%d unverified and %d unheard, want what ann said with a broken journal to wait", len(r.fold.Unverified), unheard())
	}
	if got := r.got("bob"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("bob got %q", got)
	}
	r.member["ann"].read = nil
	r.pass()
	if len(r.fold.Unverified) != 0 || unheard() != 0 {
		t.Errorf("%d unverified and %d unheard when the journal was put back", len(r.fold.Unverified), unheard())
	}
}

// TestLastWordsAfterBreak: what a member says at its end counts when its journal was put back before
// the leader's reader would have looked at it again.
func TestLastWordsAfterBreak(t *testing.T) {
	r := newRig(t, "ann")
	ann := r.member["ann"]
	ann.pause, ann.read = true, &journal.BrokenError{Journal: "a", Why: "a byte was flipped"}
	r.pass()
	ann.read = nil
	r.idle("ann", "")
	r.pass()
	idle := func() bool { return r.memberNow(ann.inst).LastIdle != nil }
	if idle() {
		t.Fatal("the reader did not pause")
	}
	r.dead[1] = true
	for range 3 {
		r.pass()
	}
	if !idle() || r.left("ann") == "" {
		t.Errorf("heard: %v, left %q; want the last words heard, and the end on record", idle(), r.left("ann"))
	}
}

// TestOwnJournalFails: an error of the leader's own journal fails the pass, and nothing is sent.
func TestOwnJournalFails(t *testing.T) {
	r := newRig(t, "ann")
	r.wrap = func(j journal.Journal) journal.Journal { return failing{j} }
	r.open()
	if err := r.l.Assign(t.Context(), "ann", record.Task{ID: "1"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("assign: %v", err)
	}
	if got := r.got("ann"); len(got) > 0 {
		t.Errorf("ann got %q, which is not on record", got)
	}
	testenv.Must(t, r.box.Append(t.Context(), protocol.Envelope{From: "eve", Text: `{"type":"idle_notification","from":"eve"}`}))
	if err := r.l.Pass(t.Context()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("pass: %v", err)
	}
	if un, err := r.box.Unread(t.Context()); err != nil || len(un) != 1 {
		t.Errorf("%d unread (%v): marked what is not on record", len(un), err)
	}
}

type failing struct{ journal.Journal }

func (f failing) Append(ctx context.Context, w journal.Writer, propose func() ([]journal.Draft, error)) ([]journal.Record, error) {
	return f.Journal.Append(ctx, w, func() ([]journal.Draft, error) {
		if ds, err := propose(); err != nil || len(ds) == 0 {
			return nil, err
		}
		return nil, fmt.Errorf("append: %w", syscall.ENOSPC)
	})
}

// TestDecideOnce: a second decision gets an error that names the first, and the answer is sent
// once.
func TestDecideOnce(t *testing.T) {
	r := newRig(t, "ann")
	r.assign("ann", "1")
	r.take("ann")
	key := r.asks("ann", "make it")
	r.pass()
	if out, err := r.decide(key, true); err != nil || !out.Changed {
		t.Fatalf("first: %+v, %v", out, err)
	}
	if out, err := r.decide(key, true); err != nil || out.Changed || out.Refusal != nil {
		t.Errorf("the same again: %+v, %v", out, err)
	}
	var decided *control.DecidedError
	if out, err := r.decide(key, false); err != nil || out.Changed || !errors.As(out.Refusal, &decided) {
		t.Errorf("the opposite: %+v, %v", out, err)
	}
	r.pass()
	r.pass()
	if got := r.got("ann"); !slices.Equal(got, []string{"1", "permission_response"}) {
		t.Errorf("ann got %q", got)
	}
}

// TestDenyAndEnd: the end of a team denies all open requests.
func TestDenyAndEnd(t *testing.T) {
	r := newRig(t, "ann")
	r.assign("ann", "1")
	r.take("ann")
	r.asks("ann", "make it")
	r.asks("ann", "make more")
	r.pass()
	for range 2 {
		testenv.Must(t, r.l.Deny(t.Context()))
		testenv.Must(t, r.l.End(t.Context(), "done"))
	}
	if got := r.got("ann"); !slices.Equal(got, []string{"1", "permission_response", "permission_response"}) {
		t.Errorf("ann got %q", got)
	}
	if r.view().Ended == nil || len(r.view().Pending()) > 0 {
		t.Error("the team has not ended, or questions are open")
	}
}

// TestViewMember: a member without a record in its journal has no view.
func TestViewMember(t *testing.T) {
	r := newRig(t, "ann")
	if r.l.ViewMember("a", func(*control.Worker) {}) {
		t.Error("seen before the first pass")
	}
	r.pass()
	var name protocol.MemberName
	if !r.l.ViewMember("a", func(w *control.Worker) { name = w.Name }) || name != "ann" {
		t.Errorf("saw %q", name)
	}
	if diff := cmp.Diff(nil, r.l.Close()); diff != "" {
		t.Error(diff)
	}
}

// TestPassesBesideEachOther: passes, orders and views from several goroutines do not mix: every
// message is sent once. The race detector checks the rest.
func TestPassesBesideEachOther(t *testing.T) {
	r := newRig(t, "ann", "bob")
	errs := make(chan error)
	const each = 20
	for i, name := range []protocol.MemberName{"ann", "bob"} {
		go func() {
			var err error
			for n := range each {
				err = errors.Join(err, r.l.Assign(t.Context(), name, record.Task{ID: fmt.Sprint(1 + n + i*each)}))
			}
			errs <- err
		}()
		go func() {
			var err error
			for range each {
				err = errors.Join(err, r.l.Pass(t.Context()))
				r.l.View(func(l *control.Leader) { _ = l.Outbox() })
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	r.pass()
	for i, name := range []protocol.MemberName{"ann", "bob"} {
		var want []string
		for n := range each {
			want = append(want, fmt.Sprint(1+n+i*each))
		}
		if diff := cmp.Diff(want, r.got(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLastWords: a message that a member wrote just before its end is verified by that member's own
// journal when it is read after the next member of that name has joined; a message that neither
// journal has is unverified.
func TestLastWords(t *testing.T) {
	r := newRig(t, "ann")
	r.assign("ann", "1")
	r.pass()
	r.take("ann")
	first := r.member["ann"]
	key := r.asks("ann", "make")
	r.idle("ann", "1")
	r.records(vital(record.KindLeft, record.Left{Instance: first.inst, How: record.LeftDied}))
	r.join("ann", "ann-2", 2)
	r.tick(time.Second)
	r.idle("ann", "")
	r.pass()
	fold := r.view()
	if len(fold.Unverified) != 0 {
		t.Fatalf("not believed: %+v", fold.Unverified)
	}
	for _, inst := range []record.Instance{first.inst, "ann-2"} {
		if m, ok := fold.ByInstance(inst); !ok || m.LastIdle == nil {
			t.Errorf("the idle notice of %s was not heard", inst)
		}
	}
	if m, _ := fold.Member("ann"); m.Instance != "ann-2" || m.Left != nil {
		t.Errorf("ann is %+v", m.Joined)
	}
	if _, ok := fold.Request(key); !ok || len(fold.Pending()) > 0 {
		t.Errorf("the request of a member that has ended is open, or not on record (%v)", ok)
	}

	r.wrote("ann", `{"type":"idle_notification","from":"ann","timestamp":"2026-01-01T00:00:00Z","idleReason":"failed"}`)
	r.pass()
	if n := len(r.view().Unverified); n != 1 {
		t.Errorf("%d entries are unverified, want the one that no journal has", n)
	}
}
