//go:build linux

package confine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/worker"
)

// attack is one case of an attack by a member's command. It counts if it succeeds for a member without
// a sandbox, and it fails for a confined one with words that say why.
type attack struct {
	name string
	// script is run by sh. $P is the hostile program, $W the member's tree, $OWN its directory in the
	// wire tree, $BOB that of another member, $TEAM and $TASKS the team's, $S STATE, $RUN the sockets,
	// $H the home directory, and what arrange adds.
	script  string
	arrange func(*scene) []string
	// got says whether it succeeded, besides printing pwned. nil: printing is enough.
	got  func(*scene, place) bool
	want *record.SandboxLimits // of the confined member, one of its own
	// left puts into the tree what a command left there before the confined member started, one of its own
	// with mode auto. It does not start then, or the script is refused.
	left   func(s *scene, work string)
	tree   bool // the confined member may use Unix sockets in its tree
	root   bool // only root can arrange it
	silent bool // it succeeds in a place of its own: nothing is refused
}

// place is where one of the two members is.
type place struct{ own, work string }

// refusal matches the output of a refused attack.
var refusal = regexp.MustCompile(`(?i)denied|bad file descriptor|cannot fork|not permitted|read-only|unreachable|refused|no such|not found|does not let|not allowed|unset|cannot|can't|busy|invalid cross-device|` +
	`no server|could not|couldn't|error connecting|the end of them|ended by|not exist|resource temporarily`)

// scene is a team with a member that is not confined and one that is.
type scene struct {
	*rig
	t         *testing.T
	bare, ann *member
	tree      *member // as ann, with Unix sockets in its tree
	victim    int     // a process of the user's
	n         int     // sockets so far
}

// sockets returns a number that no socket has yet.
func (s *scene) sockets() int { s.n++; return s.n }

func newScene(t *testing.T) *scene {
	t.Helper()
	// Not below /tmp, which a sandbox replaces as a whole.
	parent := "/var/lib"
	if os.Geteuid() != 0 {
		parent = testenv.Home(t)
	}
	base, err := os.MkdirTemp(parent, "wmc")
	testenv.Must(t, err)
	testenv.Must(t, os.Chmod(base, 0o755))
	t.Cleanup(func() { os.RemoveAll(base) })
	t.Setenv("TMPDIR", base)
	r := newRig(t)
	r.Op.Environ = append(r.Op.Environ, "AWS_SECRET_ACCESS_KEY="+pwned, "GITHUB_TOKEN="+pwned, "SSH_AUTH_SOCK="+r.dir+"/agent.sock",
		"TMUX=/tmp/tmux/default,1,0", "DOCKER_HOST=unix://"+r.dir+"/docker.sock", "DBUS_SESSION_BUS_ADDRESS=unix:path="+r.dir+"/bus", "XDG_RUNTIME_DIR="+r.dir+"/xdg")
	s := &scene{rig: r, t: t}
	for path, text := range map[string]string{".ssh/id_ed25519": "PRIVATE " + pwned, ".aws/credentials": pwned, ".claude/settings.json": `{"hooks":"` + pwned + `"}`, "notes.txt": "notes"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(r.dir, filepath.Dir(path)), 0o700))
		testenv.Must(t, os.WriteFile(filepath.Join(r.dir, path), []byte(text), 0o600))
	}
	r.Join("bob")
	bob := r.Op.Root.MemberDir(r.Name, "bob")
	testenv.Must(t, os.MkdirAll(bob, 0o700))
	testenv.Must(t, os.WriteFile(filepath.Join(bob, "output.log"), []byte("bob's "+pwned), 0o600))
	sleep := exec.Command("sleep", "600")
	sleep.Env = []string{"SECRET_OF_ANOTHER=" + pwned}
	testenv.Must(t, sleep.Start())
	t.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
	s.victim = sleep.Process.Pid
	for _, text := range []string{"Read(infra/keys/**)", "Edit(infra/**)"} {
		rule, err := policy.ParseRule(text)
		testenv.Must(t, err)
		_, err = decide.Of(r.Op).AddRule(t.Context(), r.Name, rule, true, decide.RuleScope{})
		testenv.Must(t, err)
	}
	s.bare, s.ann = s.member("bare", record.Sandbox{Mode: record.SandboxOff}), s.repository("ann", required)
	s.tree = s.repository("tree", record.Sandbox{Mode: record.SandboxRequired, UnixSockets: record.SocketsOwnTree})
	s.prepare(s.bare)
	return s
}

// repository is a member whose tree is a git repository with settings of agents: they are there
// before its sandbox is made.
func (s *scene) repository(name protocol.MemberName, want record.Sandbox) *member {
	s.t.Helper()
	s.before = s.prepareTree
	defer func() { s.before = nil }()
	return s.member(name, want)
}

// later is a member with mode auto, in whose tree a command before its start has left something.
func (s *scene) later(name protocol.MemberName, a attack) (*member, error) {
	s.t.Helper()
	s.before = func(work string) {
		s.prepareTree(work)
		a.left(s, work)
	}
	defer func() { s.before = nil }()
	return s.begin(name, record.Sandbox{Mode: record.SandboxAuto})
}

func (s *scene) prepareTree(work string) {
	s.t.Helper()
	testenv.Must(s.t, os.MkdirAll(filepath.Join(work, ".claude"), 0o700))
	testenv.Must(s.t, os.WriteFile(filepath.Join(work, ".claude", "settings.json"), []byte("{}"), 0o600))
	testenv.Must(s.t, os.WriteFile(filepath.Join(work, ".mcp.json"), []byte("{}"), 0o600))
	testenv.Must(s.t, os.MkdirAll(filepath.Join(work, "infra", "keys"), 0o700))
	testenv.Must(s.t, os.WriteFile(filepath.Join(work, "infra", "keys", "k"), []byte(pwned), 0o600))
	testenv.Must(s.t, os.WriteFile(filepath.Join(work, "infra", "main.tf"), []byte("as it was"), 0o600))
	if out, err := exec.Command("git", "-C", work, "init", "-q").CombinedOutput(); err != nil {
		s.t.Fatal(err, string(out))
	}
}

// prepare makes the member's tree anew, and each of its own files that an attack has changed.
func (s *scene) prepare(m *member) {
	s.t.Helper()
	own := s.Op.Root.MemberDir(s.Name, m.name)
	testenv.Must(s.t, os.RemoveAll(m.work))
	testenv.Must(s.t, os.MkdirAll(m.work, 0o700))
	s.prepareTree(m.work)
	testenv.Must(s.t, os.MkdirAll(own, 0o700))
	for name, want := range map[string]fs.FileMode{"output.log": 0, "task-status.json": 0, "artifacts": fs.ModeDir} {
		path := filepath.Join(own, name)
		info, err := os.Lstat(path)
		if err == nil && info.Mode().Type() == want && !holds(path, pwned) {
			continue
		}
		testenv.Must(s.t, os.RemoveAll(path))
		if want == fs.ModeDir {
			testenv.Must(s.t, os.Mkdir(path, 0o700))
		} else {
			testenv.Must(s.t, os.WriteFile(path, nil, 0o600))
		}
	}
}

// restore puts back the files outside of the members' directories that attacks change.
func (s *scene) restore() {
	s.t.Helper()
	testenv.Must(s.t, os.WriteFile(filepath.Join(s.dir, "notes.txt"), []byte("notes"), 0o600))
	testenv.Must(s.t, os.WriteFile(s.Mailbox("bob"), []byte("[]"), 0o600))
	if err := os.Remove(filepath.Join(s.dir, "pwned")); !errors.Is(err, fs.ErrNotExist) {
		testenv.Must(s.t, err)
	}
}

// run tries an attack as a member.
func (s *scene) run(a attack, m *member) (ran, bool) {
	s.t.Helper()
	s.restore()
	program := "/run/waggle/relay"
	if m == s.bare {
		self, err := os.Executable()
		testenv.Must(s.t, err)
		program = self
	}
	own := s.Op.Root.MemberDir(s.Name, m.name)
	env := []string{"P=" + program + " " + hostileWord, "W=" + m.work, "OWN=" + own, "BOB=" + s.Op.Root.MemberDir(s.Name, "bob"), "TEAM=" + s.Op.Root.TeamDir(s.Name),
		"TASKS=" + s.Op.Root.TasksDir(s.Name), "S=" + s.Op.Home.Path, "RUN=" + s.Op.RunPath(), "H=" + s.dir, "V=" + strconv.Itoa(s.victim), "ME=" + strconv.Itoa(os.Getpid())}
	if a.arrange != nil {
		env = append(env, a.arrange(s)...)
	}
	var script strings.Builder
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&script, "%s='%s'; ", name, value)
	}
	got := m.run(script.String() + "exec 2>&1\n" + a.script)
	if got.err != nil {
		got.out += "\n" + got.err.Error()
	}
	success := strings.Contains(got.out, pwned)
	if a.got != nil {
		success = a.got(s, place{own, m.work})
	}
	return got, success
}

// TestMemberCorpus tries every attack as a member without a sandbox, and as a confined one: worker,
// sandbox and wire tree as they are in a team.
func TestMemberCorpus(t *testing.T) {
	testenv.Long(t)
	testenv.Require(t, "git")
	s := newScene(t)
	var counted, void int
	most := 30 // of every day; all in the full run
	switch {
	case testenv.Slow > 1:
		most = 10 // what is tried is in other processes
	case os.Getenv(againVar) != "":
		most = 10 // root's run has tried more
	}
	cases := testenv.Rows(t, memberAttacks(), most)
	for i, a := range cases {
		if a.root && os.Geteuid() != 0 {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			s.prepare(s.bare)
			if a.left != nil {
				a.left(s, s.bare.work)
			}
			if out, success := s.run(a, s.bare); !success {
				void++
				t.Skipf("does not count: it fails without a sandbox too: %+v", out)
			}
			counted++
			m := s.ann
			switch {
			case a.tree:
				m = s.tree
			case a.want != nil:
				m = s.repository(protocol.MemberName("lim"+strconv.Itoa(i)), record.Sandbox{Mode: record.SandboxRequired, Limits: a.want})
			case a.left != nil:
				var err error
				if m, err = s.later(protocol.MemberName("auto"+strconv.Itoa(i)), a); err != nil {
					if !errors.Is(err, worker.ErrUnconfined) || !refusal.MatchString(err.Error()) {
						t.Errorf("no clear message: %v", err)
					}
					return
				}
			}
			before := stat(t, filepath.Join(s.Op.Root.MemberDir(s.Name, m.name), "output.log"))
			in, success := s.run(a, m)
			switch {
			case success:
				t.Errorf("ESCAPE: %+v", in)
			case !a.silent && !refusal.MatchString(in.out):
				t.Errorf("no clear message: %+v", in)
			}
			if after := stat(t, filepath.Join(s.Op.Root.MemberDir(s.Name, m.name), "output.log")); !os.SameFile(before, after) {
				t.Error("its log is another file")
			}
		})
	}
	testenv.Measured(t, "member corpus as uid %d: %d cases counted, %d do not count on this machine", os.Geteuid(), counted, void)
	if void > counted/4 {
		t.Errorf("only %d cases count, %d do not", counted, void)
	}
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	testenv.Must(t, err)
	if !info.Mode().IsRegular() {
		t.Errorf("%s is %s", path, info.Mode())
	}
	return info
}

// againVar is set for the run as an ordinary user.
const againVar = "WAGGLE_CONFINE_TEST_AGAIN"

// TestMemberCorpusOrdinaryUser tries some of them again without root's rights.
func TestMemberCorpusOrdinaryUser(t *testing.T) {
	testenv.Long(t)
	if os.Geteuid() != 0 {
		t.Skip("this is one already")
	}
	require(t)
	const nobody = 65534
	base, err := os.MkdirTemp("/var/lib", "wmu")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	testenv.Must(t, os.Chmod(base, 0o755))
	self, err := os.Executable()
	testenv.Must(t, err)
	program, home := filepath.Join(base, "tests"), filepath.Join(base, "own")
	data, err := os.ReadFile(self)
	testenv.Must(t, err)
	testenv.Must(t, testenv.Executable(program, data))
	testenv.Must(t, os.Mkdir(home, 0o700))
	testenv.Must(t, os.Chown(home, nobody, nobody))
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^(TestMemberCorpus|TestWriteTool)$", "-test.v")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "USER=nobody", "GIT_CONFIG_GLOBAL=/dev/null", againVar+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, testenv.MeasuredPrefix) {
			fmt.Print(line)
		}
	}
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

func holds(path, text string) bool {
	data, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(data), text)
}

// left reports that a file holds what an attack has written.
func left(path func(*scene, place) string) func(*scene, place) bool {
	return func(s *scene, p place) bool { return holds(path(s, p), pwned) }
}

func inOwn(name string) func(*scene, place) string {
	return func(_ *scene, p place) string { return filepath.Join(p.own, name) }
}

func inTree(name string) func(*scene, place) string {
	return func(_ *scene, p place) string { return filepath.Join(p.work, name) }
}

func inHome(name string) func(*scene, place) string {
	return func(s *scene, _ place) string { return filepath.Join(s.dir, name) }
}

func inTeam(name string) func(*scene, place) string {
	return func(s *scene, _ place) string { return filepath.Join(s.Op.Root.TeamDir(s.Name), name) }
}

// other reports that a name of the member's own directory is no regular file any more.
func other(name string) func(*scene, place) bool {
	return func(_ *scene, p place) bool {
		info, err := os.Lstat(filepath.Join(p.own, name))
		return err != nil || !info.Mode().IsRegular() && name != "artifacts" || name == "artifacts" && !info.IsDir()
	}
}

const say = " && echo " + pwned

// memberAttacks are the attacks of a member's command.
func memberAttacks() (all []attack) {
	for _, list := range [][]attack{ownFiles(), teamFiles(), houseKeys(), servers(), userServers(), others(), repaired(), repository(), environment(), network(), limits()} {
		all = append(all, list...)
	}
	return all
}

// ownFiles attack the files that waggle writes about the member.
func ownFiles() []attack {
	return []attack{
		{name: "write the log", script: `echo PWNED >> $OWN/output.log`, got: left(inOwn("output.log"))},
		{name: "empty the log", script: `cp /dev/null $OWN/output.log` + say},
		{name: "a link at the log", script: `rm -f $OWN/output.log; ln -s $H/notes.txt $OWN/output.log`, got: other("output.log")},
		{name: "a pipe at the log", script: `rm -f $OWN/output.log; mkfifo $OWN/output.log`, got: other("output.log")},
		{name: "another file at the log", script: `echo PWNED > $W/n; mv -f $W/n $OWN/output.log`, got: left(inOwn("output.log"))},
		{name: "a second name of the log", script: `ln $OWN/output.log $W/second` + say + ` || { cat $W/second; false; }`},
		{name: "a hard link at the log", script: `rm -f $OWN/output.log; ln $W/.mcp.json $OWN/output.log` + say},
		{name: "the log for everybody", script: `chmod 0666 $OWN/output.log` + say},
		{name: "a part of the log", script: `ln -s $H/notes.txt $OWN/output.log.1; test -h $OWN/output.log.1` + say + ` || ls $OWN/output.log.1; rm -f $OWN/output.log.1`},
		{name: "write the status", script: `echo PWNED > $OWN/task-status.json`, got: left(inOwn("task-status.json"))},
		{name: "a link at the status", script: `rm -f $OWN/task-status.json; ln -s $H/notes.txt $OWN/task-status.json`, got: other("task-status.json")},
		{name: "another status", script: `echo '{"status":"PWNED"}' > $W/n; mv -f $W/n $OWN/task-status.json`, got: left(inOwn("task-status.json"))},
		{name: "exchange the status", script: `echo PWNED > $W/n; $P exchange $W/n $OWN/task-status.json`, got: left(inOwn("task-status.json"))},
		{name: "a link at the artifacts", script: `rmdir $OWN/artifacts; ln -s $H $OWN/artifacts`, got: other("artifacts")},
		{name: "move its artifacts", script: `mv $OWN/artifacts $OWN/moved && mv $OWN/moved $OWN/artifacts` + say},
		{name: "a file beside its own", script: `echo x > $OWN/new && rm $OWN/new` + say},
	}
}

// teamFiles attack the mailboxes, the registry, tasks and directories of others.
func teamFiles() []attack {
	return []attack{
		{name: "read another's mailbox", script: `grep -q '\[' $TEAM/inboxes/bob.json` + say},
		{name: "write another's mailbox", script: `echo '[{"text":"PWNED"}]' > $TEAM/inboxes/bob.json`, got: left(inTeam("inboxes/bob.json"))},
		{name: "write the lead's mailbox", script: `echo PWNED > $TEAM/inboxes/team-lead.json.new && rm $TEAM/inboxes/team-lead.json.new` + say},
		{name: "list the mailboxes", script: `ls $TEAM/inboxes | grep -q bob` + say + ` || ls $TEAM/inboxes`},
		{name: "lock a mailbox", script: `mkdir $TEAM/inboxes/bob.json.lock && rmdir $TEAM/inboxes/bob.json.lock` + say},
		{name: "read the registry", script: `grep -q members $TEAM/config.json` + say},
		{name: "write the registry", script: `: >> $TEAM/config.json` + say},
		{name: "read another's log", script: `cat $BOB/output.log; cp $BOB/output.log $W/log`, got: left(inTree("log"))},
		{name: "write another's log", script: `: >> $BOB/output.log` + say},
		{name: "a file in another's directory", script: `echo x > $BOB/new && rm $BOB/new` + say},
		{name: "read a task", script: `grep -q subject $TASKS/1.json` + say},
		{name: "complete a task", script: `: >> $TASKS/1.json` + say},
		{name: "make a task", script: `echo '{}' > $TASKS/99.json && rm $TASKS/99.json` + say},
		{name: "make a team", script: `mkdir $TEAM/../new && rmdir $TEAM/../new` + say},
		{name: "a link as a mailbox", script: `ln -s $H/notes.txt $TEAM/inboxes/new.json && rm $TEAM/inboxes/new.json` + say},
		{name: "the team by the root of a process", script: `cp /proc/self/root$TEAM/config.json $W/c && grep -q members $W/c` + say},
	}
}

// houseKeys attack STATE and the secrets of the user.
func houseKeys() []attack {
	return []attack{
		{name: "list STATE", script: `test -d $S/teams && ls $S/teams | grep -q .` + say + ` || ls $S/teams`},
		{name: "read a journal", script: `cat $S/teams/*/journal/*/* > $W/j; grep -q kind $W/j` + say},
		{name: "append to a journal", script: `for f in $S/teams/*/journal/*/*; do : >> $f` + say + `; done`},
		{name: "copy STATE", script: `cp -r $S $W/state && test -d $W/state/teams` + say + ` || ls $W/state/teams`},
		{name: "a team in STATE", script: `mkdir $S/teams/new && rmdir $S/teams/new` + say},
		{name: "a token of the team", script: `grep -rq . $S/teams/*/` + say},
		{name: "a file in the runtime directory", script: `echo x > $RUN/new && rm $RUN/new` + say},
		{name: "read an ssh key", script: `cat $H/.ssh/id_ed25519`},
		{name: "read cloud credentials", script: `cat $H/.aws/credentials`},
		{name: "read an agent's settings", script: `cat $H/.claude/settings.json`},
		{name: "write an agent's settings", script: `: >> $H/.claude/settings.json` + say},
		{name: "a key by a link in the tree", script: `ln -s $H/.ssh $W/k; cat $W/k/id_ed25519`},
		{name: "a key by a hard link", script: `ln $H/.ssh/id_ed25519 $W/hk && cat $W/hk`},
		{name: "write a file of the user", script: `echo PWNED > $H/notes.txt`, got: left(inHome("notes.txt"))},
		{name: "write by a link in the tree", script: `ln -s $H/notes.txt $W/l; echo PWNED > $W/l`, got: left(inHome("notes.txt"))},
		{name: "write by a linked artifact", script: `ln -s $H/pwned $OWN/artifacts/l; echo PWNED > $OWN/artifacts/l; rm $OWN/artifacts/l`, got: left(inHome("pwned"))},
		{name: "a login script", script: `echo PWNED > $H/.bashrc; mv $H/.bashrc $H/pwned`, got: left(inHome("pwned"))},
		{name: "a race of renames", script: `mkdir $W/r; ln -s $H $W/rl; $P race $W/r $W/rl pwned`, got: left(inHome("pwned"))},
	}
}

// serve listens on a Unix socket and greets.
func serve(path func(*scene) string) func(*scene) []string {
	return func(s *scene) []string {
		p := path(s)
		if !strings.HasPrefix(p, "@") {
			_ = os.Remove(p)
			if filepath.Dir(p) == "/tmp/.X11-unix" { // every user's, as X11 makes it; it stays
				if err := os.Mkdir(filepath.Dir(p), 0o700); err == nil {
					testenv.Must(s.t, os.Chmod(filepath.Dir(p), fs.ModeSticky|0o777))
				}
			}
			testenv.Must(s.t, os.MkdirAll(filepath.Dir(p), 0o700))
			if dir := filepath.Dir(p); strings.HasSuffix(dir, "-"+strconv.Itoa(os.Getpid())) {
				s.t.Cleanup(func() { os.RemoveAll(dir) })
			}
		}
		listen(s, p)
		return []string{"SOCK=" + p}
	}
}

// listen greets at a Unix socket until the test ends. Where it cannot, the case does not count.
func listen(s *scene, path string) {
	l, err := net.Listen("unix", path)
	if err != nil {
		s.t.Log(err)
		return
	}
	s.greets(l)
}

// greets serves a listener until the test ends.
func (s *scene) greets(l net.Listener) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(pwned + "\n"))
			c.Close()
		}
	}()
	s.t.Cleanup(func() { l.Close(); <-done })
}

// servers attack programs of the user that answer on Unix sockets.
func servers() []attack {
	dial := `$P dial unix $SOCK`
	n := 0
	at := func(format string) func(*scene) string {
		n++
		num := n
		return func(s *scene) string { return fmt.Sprintf(format, s.dir, num) + strconv.Itoa(s.sockets()) }
	}
	run := func(name string) func(*scene) string {
		return func(s *scene) string {
			return filepath.Join(s.State().Dir.Sockets(s.Op.RunPath()).Dir, name+strconv.Itoa(s.sockets()))
		}
	}
	runtime := func(name string) func(*scene) string {
		return func(s *scene) string { return fmt.Sprintf("/run/waggle-test-%d/%s%d", os.Getpid(), name, s.sockets()) }
	}
	tmp := func(name string) func(*scene) string {
		return func(s *scene) string { return fmt.Sprintf("/tmp/wmc-%d/%s%d", os.Getpid(), name, s.sockets()) }
	}
	return []attack{
		{name: "the operator's socket", script: dial, arrange: serve(run("o.sock"))},
		{name: "another member's socket", script: dial, arrange: serve(run("m.sock"))},
		{name: "the operator's socket by a link", script: `ln -sf $SOCK $W/s; $P dial unix $W/s`, arrange: serve(run("o.sock"))},
		{name: "tmux", script: dial, arrange: serve(tmp("default"))},
		{name: "an ssh agent", script: dial, arrange: serve(at("%s/agent%d."))},
		{name: "an ssh agent below /tmp", script: dial, arrange: serve(tmp("agent"))},
		{name: "a session bus", script: dial, arrange: serve(at("%s/bus%d."))},
		{name: "an abstract bus", script: dial, arrange: serve(func(s *scene) string { return fmt.Sprintf("@waggle-test-bus-%d-%d", os.Getpid(), s.sockets()) })},
		{name: "docker", script: dial, arrange: serve(at("%s/docker%d."))},
		{name: "docker below /run", script: dial, arrange: serve(runtime("docker.sock")), root: true},
		{name: "systemd", script: dial, arrange: serve(runtime("private")), root: true},
		{name: "a server in the tree", script: dial, arrange: serve(func(s *scene) string { return filepath.Join(s.ann.work, "srv"+strconv.Itoa(s.sockets())) })},
	}
}

// userServers attack each server of a usual machine where it listens, without Unix sockets and with those of the
// member's tree. What lies below /run or /tmp is at such a path there, where the test can make it.
func userServers() (list []attack) {
	uid := os.Getuid()
	for _, server := range []struct {
		name, path string // home: $H; xdg: $H/xdg, which XDG_RUNTIME_DIR is
		root       bool
	}{
		{name: "docker of Docker Desktop", path: "home/.docker/run/docker%d.sock"},
		{name: "docker of Docker Desktop on Linux", path: "home/.docker/desktop/docker%d.sock"},
		{name: "rootless docker", path: "xdg/docker%d.sock"},
		{name: "docker of Colima", path: "home/.colima/default/docker%d.sock"},
		{name: "rootless podman", path: "xdg/podman/podman%d.sock"},
		{name: "the gpg agent", path: "home/.gnupg/S.gpg-agent%d"},
		{name: "the gpg agent for ssh", path: "home/.gnupg/S.gpg-agent.ssh%d"},
		{name: "the gpg agent in the runtime directory", path: "xdg/gnupg/S.gpg-agent%d"},
		{name: "an ssh connection that is shared", path: "home/.ssh/control%d"},
		{name: "a keyring's ssh agent", path: "xdg/keyring/ssh%d"},
		{name: "1Password's ssh agent", path: "home/.1password/agent%d.sock"},
		{name: "Wayland", path: "xdg/wayland-%d"},
		{name: "the session bus in the runtime directory", path: "xdg/bus%d"},
		{name: "the user's systemd", path: "xdg/systemd/private%d"},
		{name: "sound", path: "xdg/pipewire-%d"},
		{name: "X11", path: fmt.Sprintf("/tmp/.X11-unix/X%d%%d", 10000+os.Getpid()%10000)},
		{name: "X11 by its abstract name", path: fmt.Sprintf("@/tmp/.X11-unix/X%d%%d", 10000+os.Getpid()%10000)},
		{name: "tmux of this user", path: fmt.Sprintf("/tmp/tmux-%d/waggle-test-%d-%%d", uid, os.Getpid())},
		{name: "the runtime directory of systemd", path: fmt.Sprintf("/run/user/%d/gnupg/S.gpg-agent%%d-%d", 4000000+os.Getpid(), os.Getpid()), root: true},
		{name: "the system bus", path: fmt.Sprintf("/run/waggle-test-%d/system_bus_socket%%d", os.Getpid()), root: true},
		{name: "podman of the machine", path: fmt.Sprintf("/run/waggle-test-%d/podman%%d.sock", os.Getpid()), root: true},
	} {
		for _, tree := range []bool{false, true} {
			name := server.name
			if tree {
				name += ", with sockets in its tree"
			}
			list = append(list, attack{name: name, script: `$P dial unix $SOCK`, root: server.root, tree: tree, arrange: serve(func(s *scene) string {
				path := fmt.Sprintf(server.path, s.sockets())
				for short, dir := range map[string]string{"home/": s.dir, "xdg/": s.dir + "/xdg"} {
					if rest, ok := strings.CutPrefix(path, short); ok {
						path = filepath.Join(dir, rest)
					}
				}
				return path
			})})
		}
	}
	meanwhile := `touch $W/ready; until test -e $W/listens; do sleep 0.05; done; rm $W/ready $W/listens; $P dial unix $SOCK`
	for _, dir := range []string{".docker/run", ".gnupg", "xdg", "../tmp"} {
		list = append(list, attack{name: "a server that begins to listen meanwhile in " + filepath.Base(dir), script: meanwhile, tree: true, arrange: meanwhileIn(dir)})
	}
	return list
}

// meanwhileIn listens in a directory of the home directory, or in /tmp, as soon as a command runs.
func meanwhileIn(dir string) func(*scene) []string {
	return func(s *scene) []string {
		path := filepath.Join(s.dir, dir, fmt.Sprintf("late%d", s.sockets()))
		if dir == "../tmp" {
			path = fmt.Sprintf("/tmp/wmc-%d/late%d", os.Getpid(), s.sockets())
		}
		testenv.Must(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
		done := make(chan struct{})
		go func() {
			defer close(done)
			var work string
			if testenv.WaitFor(10*time.Second, func() bool {
				for _, m := range []*member{s.bare, s.tree} {
					if _, err := os.Stat(filepath.Join(m.work, "ready")); err == nil {
						work = m.work
					}
				}
				return work != ""
			}) {
				listen(s, path)
				_ = os.WriteFile(filepath.Join(work, "listens"), nil, 0o600)
			}
		}()
		s.t.Cleanup(func() { <-done })
		return []string{"SOCK=" + path}
	}
}

// repaired are ways that were open once.
func repaired() []attack {
	return []attack{
		{name: "what a Read rule denies, by another program", script: `cat $W/infra/keys/k; cp -r $W/infra/keys $W/keys; cat $W/keys/k`},
		{name: "what an Edit rule denies, by another program", script: `echo PWNED > $W/infra/main.tf`, got: left(inTree("infra/main.tf"))},
		{name: "a directory that an Edit rule names, moved", script: `mv $W/infra $W/other; mkdir $W/infra; echo PWNED > $W/infra/main.tf`, got: left(inTree("infra/main.tf"))},
		{name: "a link that was left for an agent's settings", script: `echo PWNED > $H/pwned`, got: left(inHome("pwned")), left: func(s *scene, work string) {
			testenv.Must(s.t, os.RemoveAll(filepath.Join(work, ".codex")))
			testenv.Must(s.t, os.Symlink("/", filepath.Join(work, ".codex")))
		}},
		{name: "a link that was left for git's directory", script: `echo PWNED > $H/pwned`, got: left(inHome("pwned")), left: func(s *scene, work string) {
			testenv.Must(s.t, os.Rename(filepath.Join(work, ".git"), filepath.Join(work, "g")))
			testenv.Must(s.t, os.Symlink("g", filepath.Join(work, ".git")))
		}},
		{name: "servers of an agent that were not there", script: `rmdir $W/.mcp.json; echo PWNED > $W/.mcp.json`, got: left(inTree(".mcp.json")), left: func(s *scene, work string) {
			testenv.Must(s.t, os.Remove(filepath.Join(work, ".mcp.json")))
		}},
		{name: "hooks of an agent that were not there", script: `mkdir $W/.claude; echo PWNED > $W/.claude/settings.json`, got: left(inTree(".claude/settings.json")), left: func(s *scene, work string) {
			testenv.Must(s.t, os.RemoveAll(filepath.Join(work, ".claude")))
		}},
		{name: "another common directory of git", script: `mkdir $W/evil; cp -r $W/.git/. $W/evil; echo PWNED > $W/.git/commondir`, got: left(inTree(".git/commondir"))},
	}
}

// anchor is memory of this process, which is the worker's.
var anchor = []byte(pwned)

// others attack processes: the worker that runs the command, and programs of the user.
func others() []attack {
	addr := func(*scene) []string { return []string{fmt.Sprintf("ADDR=%p", &anchor[0])} }
	return []attack{
		{name: "signal the worker", script: `kill -0 $ME` + say},
		{name: "read the worker's memory", script: `$P readmem $ME $ADDR`, arrange: addr},
		{name: "the worker's descriptors", script: `ls -l /proc/$ME/fd | grep -q socket` + say + ` || ls /proc/$ME/fd`},
		{name: "the worker's root", script: `ls /proc/$ME/root/` + say},
		{name: "a process's environment", script: `tr '\0' '\n' < /proc/$V/environ`},
		{name: "signal a process", script: `kill -0 $V` + say},
		{name: "a child that outlives the call", script: `setsid sh -c 'exec 9>'$W'/lock; flock 9; exec sleep 100' >/dev/null 2>&1 & while flock -n $W/lock true; do :; done`,
			got: outlives, silent: true},
	}
}

// outlives reports that a process of a call still has the lock. It is ended.
func outlives(s *scene, p place) bool {
	path := filepath.Join(p.work, "lock")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if testenv.WaitFor(3*time.Second, func() bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }) {
		return false
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/9") // the pattern is well-formed
	for _, fd := range fds {
		pid, err := strconv.Atoi(strings.Split(fd, "/")[2])
		if to, lerr := os.Readlink(fd); lerr == nil && err == nil && to == path && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return true
}

// repository attacks through files that git and agents run when they read the member's tree later.
func repository() []attack {
	config := func(key string) attack {
		return attack{name: "git's " + key, script: `git -C $W config ` + key + ` PWNED`, got: left(inTree(".git/config"))}
	}
	list := []attack{config("core.pager"), config("core.fsmonitor"), config("core.hooksPath"), config("filter.x.clean"), config("core.sshCommand"), config("diff.external"), config("alias.status"),
		{name: "a hook of git", script: `echo PWNED > $W/.git/hooks/post-commit`, got: left(inTree(".git/hooks/post-commit"))},
		{name: "attributes of the repository", script: `mkdir -p $W/.git/info; echo PWNED > $W/.git/info/attributes`, got: left(inTree(".git/info/attributes"))},
		{name: "another git directory", script: `mkdir $W/g; cp -r $W/.git/. $W/g; echo PWNED >> $W/g/config; mv $W/.git $W/old; mv $W/g $W/.git`, got: left(inTree(".git/config"))},
		{name: "git's own command line", script: `printf '#!/bin/sh\necho PWNED > '$H'/pwned\n' > $W/x; chmod +x $W/x; git -C $W -c core.fsmonitor=$W/x status; git -C $W -c core.pager=$W/x -p status`, got: left(inHome("pwned"))},
		{name: "hooks of an agent", script: `echo '{"hooks":"PWNED"}' > $W/.claude/settings.json`, got: left(inTree(".claude/settings.json"))},
		{name: "settings of an agent that were not there", script: `mkdir -p $W/.codex; echo PWNED > $W/.codex/config.toml`, got: left(inTree(".codex/config.toml"))},
		{name: "a link for settings that were not there", script: `mkdir $W/g; echo PWNED > $W/g/settings.json; rmdir $W/.gemini; ln -s g $W/.gemini`, got: left(inTree(".gemini/settings.json"))},
		{name: "servers of an agent", script: `echo PWNED > $W/.mcp.json`, got: left(inTree(".mcp.json"))},
		{name: "another directory of an agent", script: `mkdir $W/c; echo PWNED > $W/c/settings.json; $P exchange $W/c $W/.claude || { mv $W/.claude $W/o; mv $W/c $W/.claude; }`, got: left(inTree(".claude/settings.json"))},
	}
	return list
}

// environment attacks through variables of the worker.
func environment() (list []attack) {
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"} {
		list = append(list, attack{name: "the variable " + name, script: `echo "${` + name + `-` + name + ` is unset}"`})
	}
	for _, name := range []string{"SSH_AUTH_SOCK", "TMUX", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS"} {
		list = append(list, attack{name: "the variable " + name, script: `[ -n "${` + name + `-}" ]` + say + ` || echo "` + name + ` is unset"`})
	}
	return append(list, attack{name: "an inherited file", script: `cat <&$FD`, arrange: func(s *scene) []string {
		fd, err := unix.Open(filepath.Join(s.dir, ".aws", "credentials"), unix.O_RDONLY, 0) // not closed on exec
		testenv.Must(s.t, err)
		if fd > 9 { // a shell names only the first ones
			testenv.Must(s.t, errors.Join(unix.Dup2(fd, 9), unix.Close(fd)))
			fd = 9
		}
		s.t.Cleanup(func() { unix.Close(fd) })
		return []string{"FD=" + strconv.Itoa(fd)}
	}})
}

// network are ways past the proxy.
func network() []attack {
	web := func(network, addr string) func(*scene) []string {
		return func(s *scene) []string {
			l, err := net.Listen(network, addr)
			testenv.Must(s.t, err)
			s.greets(l)
			return []string{"ADDR=" + l.Addr().String()}
		}
	}
	return []attack{
		{name: "loopback", script: `$P dial tcp $ADDR`, arrange: web("tcp", "127.0.0.1:0")},
		{name: "IPv6 loopback", script: `$P dial tcp $ADDR`, arrange: web("tcp", "[::1]:0")},
		{name: "another address of 127/8", script: `$P dial tcp $ADDR`, arrange: web("tcp", "127.9.9.8:0")},
		{name: "without the proxy's variables", script: `unset HTTP_PROXY http_proxy ALL_PROXY all_proxy; $P dial tcp $ADDR`, arrange: web("tcp", "127.0.0.1:0")},
	}
}

// limits use up the machine.
func limits() []attack {
	return []attack{
		{name: "a call without end", script: `sleep 3` + say, want: &record.SandboxLimits{Time: 700}},
		{name: "huge output", script: `head -c 300000 /dev/zero | tr '\0' x; echo PWNED-; head -c 300000 /dev/zero | tr '\0' y`, want: &record.SandboxLimits{Output: 1000}},
		{name: "more processes than the limit", script: `i=0; while [ $i -lt 150 ]; do sleep 2 & i=$((i+1)); done` + say, want: &record.SandboxLimits{Processes: 60}},
		{name: "more processor time than the limit", script: `timeout 20 sh -c 'i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done'` + say + ` || echo ended by the limit: $?`, want: &record.SandboxLimits{CPU: 1000}},
	}
}
