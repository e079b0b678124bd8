package team_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/team"
)

// backedUp is a team with something of everything, and its backup.
func backedUp(t *testing.T) (team.Root, []byte) {
	t.Helper()
	r, tm := deletable(t)
	write(t, filepath.Join(r.TeamDir("api"), "mailbox", "v.jsonl"), "{}\n")
	write(t, filepath.Join(r.TeamDir("api"), "archive", "old-1.json"), oldMail)
	write(t, filepath.Join(r.TasksDir("api"), ".highwatermark"), "7")
	write(t, filepath.Join(r.TasksDir("api"), "w", "artifacts", "lock"), "a file of that name")
	state := filepath.Join(t.TempDir(), "state")
	write(t, filepath.Join(state, "journal", "leader", "00000001.jsonl"), "{}\n")
	write(t, filepath.Join(state, "journal", "leader", "lock"), "")
	write(t, filepath.Join(state, "team.yaml"), "team: api\n")
	write(t, filepath.Join(state, "processes", "x.lock"), "")
	return r, backup(t, tm, team.BackupOptions{UID: "u", RootURL: "file:///r", State: state, StateFiles: []string{"journal/leader", "journal", "team.yaml", "archive"}})
}

func backup(t *testing.T, tm *team.Team, o team.BackupOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := tm.Backup(t.Context(), &b, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpack restores data as name below a new root.
func unpack(t *testing.T, r team.Root, data []byte, as protocol.TeamName) (*team.Unpacked, error) {
	t.Helper()
	u, err := team.Unpack(t.Context(), r, bytes.NewReader(data), noon)
	if err != nil {
		if _, there := os.Lstat(r.Path); !errors.Is(there, fs.ErrNotExist) {
			t.Errorf("after %v there is %q", err, tree(t, r.Path))
		}
		return nil, err
	}
	_, err = u.Restore(t.Context(), as, nil, team.Options{})
	return u, errors.Join(err, u.Close())
}

// restoreOver restores data into a root that may have something.
func restoreOver(t *testing.T, r team.Root, data []byte, as protocol.TeamName) error {
	t.Helper()
	u, err := team.Unpack(t.Context(), r, bytes.NewReader(data), noon)
	if err != nil {
		return err
	}
	_, err = u.Restore(t.Context(), as, nil, team.Options{})
	testenv.Must(t, u.Close())
	return err
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	testenv.Must(t, errors.Join(err, z.Close()))
	return b.Bytes()
}

// contents are the files below dir by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, line := range tree(t, dir) {
		name := strings.SplitN(line, " ", 2)[1]
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			files[name] = read(t, filepath.Join(dir, name))
		}
	}
	return files
}

// TestBackupReadsTheEndFirst: what names the last line of a journal is read before the lines, so that a
// journal which is written meanwhile does not look shorter in the backup than it is.
func TestBackupReadsTheEndFirst(t *testing.T) {
	t.Parallel()
	_, tm := deletable(t)
	state := filepath.Join(t.TempDir(), "state")
	begun := filepath.Join(state, "journal", "w") // a journal that has no such file yet
	write(t, filepath.Join(state, "journal", "leader", "00000001.jsonl"), "{}\n")
	write(t, filepath.Join(state, "journal", "leader", "certain.json"), "1")
	write(t, filepath.Join(begun, "00000001.jsonl"), "{}\n")
	var b bytes.Buffer
	w := writer(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("state/journal/w/00000001.jsonl")) {
			write(t, filepath.Join(begun, "certain.json"), "2")
		}
		return b.Write(p)
	})
	if _, err := tm.Backup(t.Context(), w, team.BackupOptions{UID: "u", RootURL: "file:///r", State: state, StateFiles: []string{"journal/leader", "journal"}}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		if name, ok := strings.CutPrefix(h.Name, "state/journal/"); ok {
			names = append(names, name)
		}
	}
	if want := []string{"leader/certain.json", "leader/00000001.jsonl", "w/00000001.jsonl"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	r, data := backedUp(t)
	for what, data := range map[string][]byte{"plain": data, "gzipped": zipped(t, data)} {
		to := newRoot(t)
		u, err := unpack(t, to, data, "api")
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !u.Verified || !u.Header.Led || u.Header.UID != "u" || len(u.Skipped) > 0 {
			t.Errorf("%s: %+v", what, u)
		}
		for _, dir := range []func(team.Root) string{
			func(r team.Root) string { return r.TeamDir("api") }, func(r team.Root) string { return r.TasksDir("api") },
		} {
			if was, is := contents(t, dir(r)), contents(t, dir(to)); !maps.Equal(was, is) {
				t.Errorf("%s: was %q, is %q", what, was, is)
			}
		}
		for _, line := range tree(t, to.Path) {
			if !strings.HasPrefix(line, "0700 ") && !strings.HasPrefix(line, "0600 ") {
				t.Errorf("open to others: %s", line)
			}
		}
		if got := children(t, filepath.Join(to.Path, "teams")); !slices.Equal(got, []string{"api"}) {
			t.Errorf("%s: %q", what, got)
		}
	}
}

func TestRestoreAs(t *testing.T) {
	t.Parallel()
	_, data := backedUp(t)
	to := newRoot(t)
	if _, err := unpack(t, to, data, "other"); err != nil {
		t.Fatal(err)
	}
	tm := openTeam(t, to, "other", options())
	c := load(t, tm)
	if len(c.Problems()) > 0 || c.LeadAgentID != "team-lead@other" || c.Members[1].AgentID != "w@other" {
		t.Errorf("%+v %q", c, c.Problems())
	}
	if problems, err := tm.Validate(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// TestRestoreKeepsWhatIsThere: neither a team nor another task list is touched;
// the very same task list is.
func TestRestoreKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	r, data := backedUp(t)
	for _, as := range []protocol.TeamName{"api", "API", "api-2"} {
		before := contents(t, r.Path)
		if err := restoreOver(t, r, data, as); !errors.Is(err, team.ErrExists) || !maps.Equal(before, contents(t, r.Path)) {
			t.Errorf("%s: %v", as, err)
		}
	}
	to := newRoot(t)
	write(t, filepath.Join(to.TasksDir("api"), "1.json"), `{"id":"1","subject":"another"}`)
	if err := restoreOver(t, to, data, "api"); !errors.Is(err, team.ErrExists) || isThere(to.TeamDir("api")) {
		t.Errorf("over another task list: %v", err)
	}
	to = newRoot(t)
	testenv.Must(t, os.MkdirAll(filepath.Dir(to.TasksDir("api")), 0o700))
	testenv.Must(t, os.CopyFS(to.TasksDir("api"), os.DirFS(r.TasksDir("api"))))
	if _, err := unpack(t, to, data, "api"); err != nil {
		t.Errorf("over the same task list: %v", err)
	}
}

// TestRestoreOfAnotherProgramsTar restores the tar that seed 002 makes, with its directories
// anywhere in the tar.
func TestRestoreOfAnotherProgramsTar(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "./", "home/somebody/.claude/"} {
		data := tarOf(t,
			entry{name: prefix + "teams/api/", kind: tar.TypeDir}, entry{name: prefix + "teams/api/config.json.lock/", kind: tar.TypeDir},
			entry{name: prefix + "teams/api/config.json", data: `{"name":"api","members":[]}`}, entry{name: prefix + "teams/api/.config.json.flk", data: "x"},
			entry{name: prefix + "teams/other/config.json", data: `{}`}, entry{name: prefix + "tasks/api/1.json", data: `{"id":"1"}`}, entry{name: prefix + "notes.txt", data: "n"})
		to := newRoot(t)
		u, err := unpack(t, to, data, "api")
		if err != nil {
			t.Errorf("%q: %v", prefix, err)
			continue
		}
		if u.Verified || u.Header.Led || u.Files != 2 || len(u.Skipped) != 2 {
			t.Errorf("%q: %+v", prefix, u)
		}
		if got := tree(t, to.Path); !slices.Equal(got, []string{"0700 tasks", "0700 tasks/api", "0600 tasks/api/1.json", "0700 teams", "0700 teams/api", "0600 teams/api/config.json"}) {
			t.Errorf("%q: %q", prefix, got)
		}
	}
}

// entry is one entry of a tar that a test makes.
type entry struct {
	name, data, link string
	kind             byte
	size             int64 // the path in the tar
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: 0o777, Size: int64(len(e.data))}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.size > 0 {
			h.Size = e.size
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("%q: %v", e.name, err)
		}
		if _, err := io.WriteString(w, e.data); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close() // an entry whose header has the wrong size
	return b.Bytes()
}

var config = entry{name: "teams/api/config.json", data: `{"name":"api","members":[]}`}

// attack is a tar that must not be restored, and what is said of it.
type attack struct {
	data []byte
	want string
}

func attacks(t testing.TB) map[string]attack {
	long := strings.Repeat("a", 256)
	header := func(s string) entry { return entry{name: "waggle-backup.json", data: s} }
	bad := map[string]attack{
		"no registry":     {tarOf(t, entry{name: "teams/api/inboxes/w.json", data: "[]"}), "holds no teams/<team>/config.json"},
		"broken registry": {tarOf(t, entry{name: config.name, data: "{"}), "config.json"},
		"nothing":         {nil, "holds no"},
		"no tar":          {bytes.Repeat([]byte("x"), 2000), "invalid tar header"},
		"no gzip":         {[]byte{0x1f, 0x8b, 1, 2, 3}, "backup: "},
	}
	one := func(what, want string, entries ...entry) {
		bad[what] = attack{tarOf(t, append([]entry{config}, entries...)...), want}
	}
	for what, name := range map[string]string{
		"climbs": "../../evil", "climbs inside": "teams/api/../../../evil", "climbs at the end": "teams/api/..", "absolute": "/etc/passwd",
		"absolute below": "/teams/api/x", "backslash": `teams\api\x`, "climbs with backslashes": `teams/api/..\..\evil`, "drive": "C:/evil",
		"stream": "teams/api/x:y", "double slash": "teams//api/x", "dot inside": "teams/./api/x", "newline": "teams/api/a\nb",
		"escape": "teams/api/\x1b[31m", "direction": "teams/api/\u202efdp.exe", "not UTF-8": "teams/api/\xff", "long part": "teams/api/" + long,
		"long": "teams/api/" + strings.Repeat("a/", 300) + "x", "deep": "teams/api/" + strings.Repeat("a/", 20) + "x", "trailing dot": "teams/api/x.", "trailing space": "teams/api/x ",
	} {
		one(what, "the name ", entry{name: name, data: "x"})
	}
	one("symbolic link", "is of type", entry{name: "teams/api/x", kind: tar.TypeSymlink, link: "/etc/passwd"})
	one("link and through it", "is of type", entry{name: "teams/api/d", kind: tar.TypeSymlink, link: "/tmp"}, entry{name: "teams/api/d/x", data: "x"})
	one("hard link", "is of type", entry{name: "teams/api/x", kind: tar.TypeLink, link: "teams/api/config.json"})
	one("hard link out", "is of type", entry{name: "teams/api/x", kind: tar.TypeLink, link: "/etc/passwd"})
	one("device", "is of type", entry{name: "teams/api/x", kind: tar.TypeChar})
	one("block device", "is of type", entry{name: "teams/api/x", kind: tar.TypeBlock})
	one("FIFO", "is of type", entry{name: "teams/api/inboxes/w.json", kind: tar.TypeFifo})
	one("twice", "occurs twice", entry{name: "teams/api/x", data: "1"}, entry{name: "teams/api/x", data: "2"})
	one("twice in another case", "occurs twice", entry{name: "teams/api/Config.json", data: "{}"})
	one("twice with a dot", "occurs twice", entry{name: "./teams/api/config.json", data: "{}"})
	one("twice by another way", "where another entry does", entry{name: "a/teams/api/config.json", data: "{}"})
	one("twice by another way in another case", "where another entry does", entry{name: "a/teams/api/Config.json", data: "{}"})
	one("file and directory in another case", "is a file and a directory", entry{name: "teams/api/X", data: "1"}, entry{name: "teams/api/x/y", data: "2"})
	one("directory and file in another case", "is a file and a directory", entry{name: "teams/api/X/y", data: "1"}, entry{name: "teams/api/x", data: "2"})
	one("file and directory", "is a file and a directory", entry{name: "teams/api/x", data: "1"}, entry{name: "teams/api/x/y", data: "2"})
	one("directory and file", "is a file and a directory", entry{name: "teams/api/x/y", data: "1"}, entry{name: "teams/api/x", data: "2"})
	one("too large", "at most", entry{name: "teams/api/x", size: 256<<20 + 1})
	one("shorter than it says", "unexpected EOF", entry{name: "teams/api/x", data: "x", size: 100000})
	for what, h := range map[string]string{
		"climbing team":  `{"format":"waggle team backup","version":1,"team":"../../evil"}`,
		"newer version":  `{"format":"waggle team backup","version":2,"team":"api"}`,
		"another format": `{"format":"x","version":1,"team":"api"}`, "no header": `[`,
		"no sums": `{"format":"waggle team backup","version":1,"team":"api"}`,
	} {
		bad[what] = attack{tarOf(t, header(h), config), map[string]string{"no sums": "cut short"}[what]}
	}
	one("late header", "is not the first", header(`{"format":"waggle team backup","version":1,"team":"api"}`))
	return bad
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	for what, a := range attacks(t) {
		r := newRoot(t)
		_, err := unpack(t, r, a.data, "api")
		if !errors.As(err, new(*team.BackupError)) || !strings.Contains(err.Error(), a.want) {
			t.Errorf("%s: %v, want %q", what, err, a.want)
		}
		if left := tree(t, filepath.Dir(r.Path)); !slices.Equal(left, nil) {
			t.Errorf("%s left %q", what, left)
		}
	}
}

// TestRestoreRefusesDamage: a backup that was cut anywhere, or has a changed byte in
// any file, is refused.
func TestRestoreRefusesDamage(t *testing.T) {
	t.Parallel()
	_, data := backedUp(t)
	end := len(data) - 1024 // of the last entry; two empty blocks follow
	for cut := 0; cut < len(data); cut += 512 {
		if _, err := unpack(t, newRoot(t), data[:cut], "api"); (err == nil) != (cut >= end) {
			t.Errorf("cut at %d of %d: %v", cut, len(data), err)
		}
	}
	for _, text := range []string{"keep", `"old"`, "made", "team: api\n", `"id":"1"`, "team-lead@api"} {
		at := bytes.Index(data, []byte(text))
		if at < 0 {
			continue
		}
		changed := bytes.Clone(data)
		changed[at+1] ^= 1
		if _, err := unpack(t, newRoot(t), changed, "api"); err == nil {
			t.Errorf("a changed byte at %d (%q) was not found", at, text)
		}
	}
	cut := zipped(t, data)
	if _, err := unpack(t, newRoot(t), cut[:len(cut)-4], "api"); err == nil {
		t.Error("a gzip stream without its end was taken")
	}
}

// TestBackupLeavesOut: paths that are not regular files are listed and not followed.
func TestBackupLeavesOut(t *testing.T) {
	t.Parallel()
	r, tm := deletable(t)
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	if err := os.Symlink(outside, filepath.Join(r.TasksDir("api"), "w", "artifacts", "link")); err != nil {
		t.Skip(err)
	}
	write(t, filepath.Join(r.TeamDir("api"), "inboxes", ".w.json.0123.tmp"), "half")
	write(t, filepath.Join(r.TeamDir("api"), "inboxes", ".w.json.shadow"), "displaced")
	testenv.Must(t, os.MkdirAll(filepath.Join(r.TeamDir("api"), "inboxes", "w.json.lock"), 0o700))
	testenv.Must(t, os.Remove(filepath.Join(r.TeamDir("api"), "inboxes", "w.json.lock")))
	var b bytes.Buffer
	rep, err := tm.Backup(t.Context(), &b, team.BackupOptions{})
	testenv.Must(t, err)
	if len(rep.Skipped) != 1 || filepath.Base(rep.Skipped[0].Path) != "link" || bytes.Contains(b.Bytes(), []byte("secret")) || bytes.Contains(b.Bytes(), []byte("half")) || bytes.Contains(b.Bytes(), []byte("displaced")) {
		t.Errorf("%+v", rep)
	}
}

// TestBackupIsOneMoment: members join, each with a mailbox, while backups are made;
// every backup holds the mailboxes of its members and no others, and restores.
func TestBackupIsOneMoment(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	var running []interface{ Wait() error }
	for range 3 {
		cmd := helper(t.Context(), "add", r.Path, "")
		cmd.Stderr = os.Stderr
		testenv.Must(t, cmd.Start())
		running = append(running, cmd)
	}
	done := make(chan error, 1)
	go func() {
		var errs []error
		for _, cmd := range running {
			errs = append(errs, cmd.Wait())
		}
		done <- errors.Join(errs...)
	}()
	for n := 0; ; n++ {
		to := newRoot(t)
		if _, err := unpack(t, to, backup(t, tm, team.BackupOptions{}), "api"); err != nil {
			t.Fatal(err)
		}
		restored, err := team.Open(to, "api", options())
		testenv.Must(t, err)
		c := load(t, restored)
		var want []string
		for _, m := range c.Members {
			want = append(want, string(m.Name)+".json")
		}
		slices.Sort(want)
		if got := children(t, to.InboxesDir("api")); !slices.Equal(got, want) {
			t.Errorf("backup %d has the members %q and the mailboxes %q", n, want, got)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			if got := len(load(t, tm).Members); got != 16 {
				t.Errorf("%d members", got)
			}
			return
		default:
		}
	}
}

// helperRestore restores a backup and kills itself at a step.
func helperRestore() error {
	step, err := strconv.Atoi(os.Getenv(envStep))
	if err != nil {
		return err
	}
	root := os.Getenv(envRoot)
	f, err := os.Open(filepath.Join(root, "api.tar"))
	if err != nil {
		return err
	}
	defer f.Close()
	u, err := team.Unpack(context.Background(), team.Root{Path: root}, f, noon)
	if err != nil {
		return err
	}
	_, err = u.Restore(context.Background(), "api", nil, team.Options{Hook: dieAt(step)})
	return errors.Join(err, u.Close())
}

// TestKilledWhileRestoring: the team is there whole or not at all, and the next
// restore makes it, or finds it.
func TestKilledWhileRestoring(t *testing.T) {
	t.Parallel()
	_, data := backedUp(t)
	steps := 0
	for step := 0; ; step++ {
		r := newRoot(t)
		write(t, filepath.Join(r.Path, "api.tar"), string(data))
		out, err := helper(t.Context(), "restore", r.Path, strconv.Itoa(step)).Output()
		if err == nil {
			break
		}
		steps++
		at := strings.TrimSpace(string(out))
		whole := isThere(r.TeamDir("api"))
		err = restoreOver(t, r, data, "api")
		if whole != errors.Is(err, team.ErrExists) || !whole && err != nil {
			t.Errorf("%s: there %v, again %v", at, whole, err)
		}
		if got := len(contents(t, r.TeamDir("api"))) + len(contents(t, r.TasksDir("api"))); got != 10 {
			t.Errorf("%s: %d files", at, got)
		}
	}
	if steps < 4 {
		t.Errorf("only %d steps: this test shows little", steps)
	}
}

// TestRestoreLeavesLocks: lock files of an archive are not restored; files that members made are,
// whatever their names.
func TestRestoreLeavesLocks(t *testing.T) {
	t.Parallel()
	files := []entry{config}
	for _, name := range []string{"teams/api/config.json.lock", "teams/api/inboxes/ann.json.lock/x", "teams/api/inboxes/.ann.json.flk",
		"tasks/api/.lock.lock", "tasks/api/1.json.lock", "tasks/api/.lock", "tasks/api/1.json", "teams/api/artifacts/yarn.lock"} {
		files = append(files, entry{name: name, data: "{}"})
	}
	r := newRoot(t)
	u, err := unpack(t, r, tarOf(t, files...), "api")
	testenv.Must(t, err)
	var got []string
	for _, dir := range []string{"teams", "tasks"} {
		for name := range contents(t, filepath.Join(r.Path, dir)) {
			got = append(got, dir+"/"+name)
		}
	}
	slices.Sort(got)
	want := []string{"tasks/api/.lock", "tasks/api/1.json", "teams/api/artifacts/yarn.lock", "teams/api/config.json"}
	if !slices.Equal(got, want) || len(u.Skipped) != 5 {
		t.Errorf("restored %q, left out %+v", got, u.Skipped)
	}
}

// TestRestoreRefusedLeavesNothing: a refused restore beside an existing team leaves no file and no
// directory.
func TestRestoreRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	before := tree(t, r.Path)
	many := []entry{}
	for i := range 20_000 {
		many = append(many, entry{name: fmt.Sprint("teams/other/f", i)})
	}
	for what, data := range map[string][]byte{
		"the name is taken": tarOf(t, config, entry{name: "tasks/api/1.json", data: "{}"}),
		"no registry":       tarOf(t, many...),
		"cut":               tarOf(t, config)[:700],
	} {
		if err := restoreOver(t, r, data, "api"); err == nil {
			t.Errorf("%s: restored", what)
		}
		if after := tree(t, r.Path); !slices.Equal(before, after) {
			t.Errorf("%s: was %q, is %q", what, before, after)
		}
	}
}

// TestRestoreAir: a backup that unpacks to many times its size is refused before all of it is
// written.
func TestRestoreAir(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	const size = 80 << 20
	testenv.Must(t, w.WriteHeader(&tar.Header{Name: "teams/api/artifacts/air", Size: size, Mode: 0o600}))
	if _, err := io.Copy(w, io.LimitReader(air{}, size)); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, errors.Join(w.Close(), z.Close()))
	var bad *team.BackupError
	if _, err := unpack(t, newRoot(t), b.Bytes(), "api"); !errors.As(err, &bad) || !strings.Contains(bad.Why, "times its size") {
		t.Error(err)
	}
}

type air struct{}

func (air) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func FuzzUnpack(f *testing.F) {
	for _, a := range attacks(f) {
		if len(a.data) < 1<<16 {
			f.Add(a.data)
		}
	}
	f.Add(tarOf(f, config))
	f.Fuzz(func(t *testing.T, data []byte) {
		base := t.TempDir()
		r := team.Root{Path: filepath.Join(base, "a", "b", "root")}
		u, err := team.Unpack(t.Context(), r, bytes.NewReader(data), noon)
		if err == nil {
			if _, err := u.Config(); err != nil {
				t.Error(err)
			}
			err = u.Close()
		}
		if err != nil && !errors.As(err, new(*team.BackupError)) {
			t.Errorf("%v", err)
		}
		if left := fmt.Sprint(tree(t, base)); left != "[]" {
			t.Errorf("left %s", left)
		}
	})
}

// counted counts what is read of a stream that cannot be read twice.
type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// TestRefusedUnread: a backup of many entries and no registry is refused by its names:
// packed or not, nothing of it comes onto the disk, and of a stream a part is read: the
// soak size has more entries than a stream may have before the registry.
func TestRefusedUnread(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	var plain, packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(io.MultiWriter(&plain, z))
	for i := range testenv.Scale(10_000, 60_000) {
		testenv.Must(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("teams/api/inboxes/a%d.json", i), Typeflag: tar.TypeReg, Mode: 0o600}))
	}
	testenv.Must(t, errors.Join(w.Close(), z.Close()))
	nowhere := filepath.Join(t.TempDir(), "file") // creating a file below this path fails
	testenv.Must(t, os.WriteFile(nowhere, nil, 0o600))
	for name, in := range map[string]io.Reader{"plain": bytes.NewReader(plain.Bytes()), "packed": bytes.NewReader(packed.Bytes())} {
		_, err := team.Unpack(t.Context(), team.Root{Path: nowhere}, in, time.Now())
		if !errors.As(err, new(*team.BackupError)) || !strings.Contains(err.Error(), "config.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !testenv.Soak() {
		return
	}
	pipe := &counted{r: bytes.NewReader(plain.Bytes())}
	root := t.TempDir()
	_, err := team.Unpack(t.Context(), team.Root{Path: root}, pipe, time.Now())
	if !errors.As(err, new(*team.BackupError)) || pipe.n > plain.Len()/2 {
		t.Errorf("a pipe: %d of %d bytes read, %v", pipe.n, plain.Len(), err)
	}
	if left, _ := os.ReadDir(root); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
