//go:build unix

package storetest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
)

// send appends messages "sender/n" and keeps a list of them. After its input has ended it looks for
// lost messages, sends them again and prints that.
func (c child) send() error {
	var invalid error
	o := mailbox.Options{Hook: func(step string) {
		if step == "checked" { // before that, what others wrote meanwhile may be in it
			invalid = errors.Join(invalid, wholeTemps(c.Dir))
		}
	}}
	b, err := openIn(c.Layout, c.Dir, o)
	if err != nil {
		return err
	}
	var sent []protocol.Envelope
	for n := range c.Count {
		e := mail(c.Sender, n)
		if err := b.Append(context.Background(), e); err != nil {
			return fmt.Errorf("message %d: %w", n, err)
		}
		sent = append(sent, e)
		fmt.Println("ack", n)
	}
	fmt.Println("done")
	bufio.NewScanner(os.Stdin).Scan()
	lost, err := mailbox.Missing(context.Background(), b, sent...)
	if err != nil {
		return err
	}
	for _, e := range lost {
		if err := b.Append(context.Background(), e); err != nil {
			return err
		}
		_, n, _ := strings.Cut(e.Text, "/")
		fmt.Println("lost", n)
	}
	return invalid
}

// wholeTemps checks the contents that are about to be published.
func wholeTemps(dir string) error {
	temps, err := filepath.Glob(filepath.Join(dir, ".tester.json.*.tmp"))
	if err != nil {
		return err
	}
	for _, path := range temps {
		data, err := os.ReadFile(path)
		if err == nil && !json.Valid(data) {
			err = errors.New("it is not whole")
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is about to be published: %w", path, err)
		}
	}
	return nil
}

// pace is how often the careless writers write.
const pace = 50 * time.Millisecond

// truncate is an editor that reformats: it reads the file, empties it and writes
// it again, in two pieces. It goes on until its input ends.
func (c child) truncate() error {
	path := filepath.Join(c.Dir, "tester.json")
	stop := make(chan struct{})
	go func() {
		bufio.NewScanner(os.Stdin).Scan()
		close(stop)
	}()
	n := 0
	for indent := ""; ; {
		select {
		case <-stop:
			fmt.Println("wrote", n)
			return nil
		case <-time.After(pace):
		}
		if c.Lock {
			if err := os.Mkdir(path+".lock", 0o777); err != nil {
				continue
			}
		}
		wrote, err := reformat(path, indent)
		if c.Lock {
			err = errors.Join(err, os.Remove(path+".lock"))
		}
		if err != nil {
			return err
		}
		if wrote {
			n++
			indent = map[string]string{"": "\t", "\t": "    ", "    ": ""}[indent]
		}
	}
}

func reformat(path, indent string) (bool, error) {
	data, err := os.ReadFile(path)
	var list []json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return false, nil // not now
	}
	out, err := json.Marshal(list)
	if indent != "" {
		out, err = json.MarshalIndent(list, "", indent)
	}
	if err != nil {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return false, nil
	}
	_, err1 := f.Write(out[:len(out)/2])
	time.Sleep(time.Millisecond) // real clock: a slow writer
	_, err2 := f.Write(append(out[len(out)/2:], '\n'))
	return true, errors.Join(err1, err2, f.Close())
}

// jq rewrites the file over and over as people do it in a shell.
func jq(t *testing.T, dir string, lock bool) *process {
	t.Helper()
	script := `n=0
while [ ! -e "$1/stop" ]; do
  sleep 0.05
  if [ "$2" = true ]; then until mkdir "$1/tester.json.lock" 2>/dev/null; do sleep 0.01; done; fi
  if jq . "$1/tester.json" > "$1/jq.tmp" 2>/dev/null && [ -s "$1/jq.tmp" ]; then mv "$1/jq.tmp" "$1/tester.json" && n=$((n+1)); fi
  if [ "$2" = true ]; then rmdir "$1/tester.json.lock"; fi
done
rm -f "$1/jq.tmp"
echo wrote $n`
	return start(t, exec.Command("bash", "-c", script, "jq", dir, fmt.Sprint(lock)))
}

// receiver takes messages as a member does: its journal is a set in memory.
type receiver struct {
	owned map[string]bool
	texts map[string]int // how often each text was taken
}

func newReceiver() *receiver {
	return &receiver{owned: map[string]bool{}, texts: map[string]int{}}
}

func (r *receiver) Refresh(context.Context) error                   { return nil }
func (r *receiver) Apply(context.Context) error                     { return nil }
func (r *receiver) Receive(context.Context, message.Incoming) error { return nil }
func (r *receiver) Standing(entry string) poll.Standing {
	if r.owned[entry] {
		return poll.Owned
	}
	return poll.New
}

func (r *receiver) Deliver(_ context.Context, chat []message.Incoming) (ids []mailbox.ID, err error) {
	for _, in := range chat {
		id, err := mailbox.ParseID(in.Entry)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		r.owned[in.Entry] = true
		r.texts[in.Envelope.Text]++
	}
	return ids, nil
}

// Shell scripts that append lines with >> and know of no lock lose nothing to waggle, and waggle loses
// nothing to them, while a receiver takes line after line.
func TestShellAppends(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "bash")
	dir := t.TempDir()
	count := testenv.Scale(50, 2000)
	const script = `for ((i = 0; i < $2; i++)); do echo '{"from":"'$1'","text":"'$1/$i'","timestamp":"2026-11-20T18:15:43.000Z","read":false}' >> "$3"; done`
	b, err := openIn(mailbox.JSONL, dir, mailbox.Options{Retention: mailbox.Prune})
	testenv.Must(t, err)
	r := &foreignRun{dir: dir, acked: map[string]bool{}, ours: map[string]bool{}, taken: newReceiver()}
	ctx, stop := context.WithCancel(t.Context())
	polled := make(chan error, 1)
	go func() { polled <- r.poll(ctx, b) }()
	senders := map[string]*process{}
	for i := range 3 {
		name := fmt.Sprint("sh", i)
		senders[name] = start(t, exec.Command("bash", "-c", script, "sh", name, fmt.Sprint(count), b.Path()))
		name = fmt.Sprint("go", i)
		senders[name] = child{Role: "send", Dir: dir, Layout: mailbox.JSONL, Sender: name, Count: count}.start(t)
	}
	for name, p := range senders {
		r.hear(name, p, "done")
		if strings.HasPrefix(name, "sh") {
			testenv.Must(t, p.Wait())
		}
	}
	stop()
	testenv.Must(t, <-polled)
	r.taken.pass(t, b)
	for name := range senders {
		for i := range count {
			text := fmt.Sprintf("%s/%d", name, i)
			if r.taken.texts[text] != 1 {
				t.Errorf("%s was taken %d times", text, r.taken.texts[text])
			}
		}
	}
	if data, err := os.ReadFile(b.Path()); err != nil || len(data) > 0 {
		t.Errorf("%d bytes are left, %v", len(data), err)
	}
	testenv.Measured(t, "3 shell loops with >> and 3 of our writers, %d messages each, beside a receiver that takes them out: all %d taken once", count, 6*count)
}

// foreignRun is one run of TestForeignWriters and its result.
type foreignRun struct {
	dir      string
	lock     bool
	reports  []mailbox.Report
	taken    *receiver
	present  map[string]int
	acked    map[string]bool
	ours     map[string]bool // acknowledged to one of ours
	dropped  int             // what Node said that it dropped
	lost     map[string]bool // what our senders found lost, and sent again
	rewrites map[string]string
}

// Four Node writers and four of waggle on one inbox, a receiver, and two careless programs. The
// programs that take the lock lose no message. Those that do not may take messages away: the senders
// of waggle find out which, and its receiver neither misses one that is there nor takes one twice.
func TestForeignWriters(t *testing.T) {
	t.Parallel()
	testenv.NodeModules(t)
	testenv.Require(t, "jq")
	testenv.Require(t, "bash")
	for name, lock := range map[string]bool{"with the lock": true, "without the lock": false} {
		t.Run(name, func(t *testing.T) {
			r := &foreignRun{dir: t.TempDir(), lock: lock, acked: map[string]bool{}, ours: map[string]bool{}, lost: map[string]bool{}, present: map[string]int{}, rewrites: map[string]string{},
				taken: newReceiver()}
			began := time.Now()
			r.run(t)
			r.check(t)
			mark := fmt.Sprintf("4 Node writers and 4 of ours, %d messages each, beside jq (%s times) and truncate-and-write (%s times)",
				foreignCount(), r.rewrites["jq"], r.rewrites["truncate"])
			took := time.Since(began).Round(time.Second)
			if lock {
				testenv.Measured(t, "%s under the lock: %d acknowledged, each there once and taken once; Node dropped %d and said so; %v", mark, len(r.acked), r.dropped, took)
				return
			}
			testenv.Measured(t, "%s without the lock: %d of %d of ours lost to them, all noticed and sent again; %d repairs told; none taken twice, none left untaken; %v", mark, len(r.lost), len(r.ours), len(r.reports), took)
		})
	}
}

func foreignCount() int { return testenv.Scale(20, 1000) }

func (r *foreignRun) run(t *testing.T) {
	b, err := open(r.dir, mailbox.Options{Report: func(rep mailbox.Report) { r.reports = append(r.reports, rep) }})
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(b.Path(), []byte("[]"), 0o600))
	careless := map[string]*process{"jq": jq(t, r.dir, r.lock), "truncate": child{Role: "truncate", Dir: r.dir, Lock: r.lock}.start(t)}
	senders := map[string]*process{}
	for i := range 4 {
		senders[fmt.Sprint("go", i)] = child{Role: "send", Dir: r.dir, Sender: fmt.Sprint("go", i), Count: foreignCount()}.start(t)
		senders[fmt.Sprint("node", i)] = node(t, "sender.js", b.Path(), fmt.Sprint("node", i), fmt.Sprint(foreignCount()))
	}
	ctx, stop := context.WithCancel(t.Context())
	polled := make(chan error, 1)
	go func() { polled <- r.poll(ctx, b) }()
	// All writers are at work until the last has sent its last message; then the careless ones end,
	// and the senders of waggle look for their lost messages.
	for name, p := range senders {
		r.hear(name, p, "done")
	}
	for name, p := range careless {
		p.in.Close()
		if name == "jq" {
			testenv.Must(t, os.WriteFile(filepath.Join(r.dir, "stop"), nil, 0o600))
		}
		for _, line := range p.rest() {
			_, r.rewrites[name], _ = strings.Cut(line, " ")
		}
		testenv.Must(t, p.Wait())
	}
	for name, p := range senders {
		p.in.Close()
		r.hear(name, p, "")
		if err := p.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	stop()
	testenv.Must(t, <-polled)
	r.taken.pass(t, b) // what came after the last pass
	for _, raw := range validArray(t, b.Path()) {
		e, err := protocol.ParseEnvelope(raw)
		testenv.Must(t, err)
		r.present[e.Text]++
		if !e.Read {
			t.Errorf("%s was not marked read", e.Text)
		}
	}
}

// hear notes the output of a sender, up to this word.
func (r *foreignRun) hear(name string, p *process, until string) {
	for line := p.line(); line != "" && line != until; line = p.line() {
		switch word, n, _ := strings.Cut(line, " "); word {
		case "ack":
			r.acked[name+"/"+n] = true
			if strings.HasPrefix(name, "go") {
				r.ours[name+"/"+n] = true
			}
		case "dropped":
			r.dropped++
		case "lost":
			r.lost[name+"/"+n] = true
		}
	}
}

// poll is the receiver's loop.
func (r *foreignRun) poll(ctx context.Context, b *mailbox.Box) error {
	nudges, err := mailbox.Watch(ctx, mailbox.WatchOptions{Interval: 20 * time.Millisecond}, r.dir)
	if err != nil {
		return err
	}
	p := poll.Poller{Name: "tester", Box: b, Machine: r.taken, Mark: true}
	err = p.Run(ctx, nudges, func(error) bool { return false })
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (r *receiver) pass(t *testing.T, b *mailbox.Box) {
	t.Helper()
	p := poll.Poller{Name: "tester", Box: b, Machine: r, Mark: true}
	testenv.Must(t, p.Pass(t.Context()))
}

func (r *foreignRun) check(t *testing.T) {
	want := r.acked
	if !r.lock {
		want = r.ours // Node looks for nothing
	}
	for _, text := range slices.Sorted(maps.Keys(want)) {
		if r.present[text] != 1 {
			t.Errorf("%s was acknowledged and is there %d times", text, r.present[text])
		}
	}
	for text, n := range r.taken.texts {
		if n != 1 {
			t.Errorf("%s was taken %d times", text, n)
		}
	}
	for text, n := range r.present {
		if n != 1 || r.taken.texts[text] != 1 {
			t.Errorf("%s is there %d times and was taken %d times", text, n, r.taken.texts[text])
		}
	}
	if len(r.ours) != 4*foreignCount() {
		t.Errorf("%d of our messages were acknowledged", len(r.ours))
	}
	if r.lock && (len(r.lost) > 0 || len(r.reports) > 0 || len(r.acked)+r.dropped != 8*foreignCount()) {
		t.Errorf("%d lost, %d dropped, %d acknowledged, reports %v", len(r.lost), r.dropped, len(r.acked), r.reports)
	}
}
