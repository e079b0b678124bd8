//go:build linux

package confine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
)

// fetchJava is a program that fetches the host that it is given.
const fetchJava = `public class Fetch { public static void main(String[] a) throws Exception {
	try (var in = new java.net.URL("http://" + a[0] + "/").openStream()) { in.readAllBytes(); } } }`

// presetCases are programs that find the proxy by a variable of their own, each with a host. Without
// their variables they find no network.
var presetCases = []struct {
	name, host, script string
	ignores            bool // this version of it reads no variable at all
}{
	{"curl", "curl.example.com", "curl -sSf http://curl.example.com/", false},
	{"git", "git.example.com", "git ls-remote http://git.example.com/r", false},
	{"ssh", "ssh.example.com", "git ls-remote ssh://git@ssh.example.com/r", false},
	{"npm", "npm.example.com", "npm view thing --registry http://npm.example.com/ --fetch-retries 0", false},
	{"java", "java.example.com", "java Fetch.java java.example.com", false},
	{"cargo", "cargo.example.com", "cd crate && CARGO_NET_RETRY=0 cargo fetch", false},
	{"node", "node.example.com", `node -e 'require("http").get("http://node.example.com/", r => r.resume())'`, true},
}

// toolchain puts cargo itself before rustup's, which finds it below the user's home directory only.
func toolchain(t *testing.T) string {
	rustup := exec.Command("rustup", "which", "cargo")
	rustup.Env = append(os.Environ(), "HOME="+testenv.Home(t))
	out, err := rustup.Output()
	if err != nil {
		return "" // cargo is not rustup's
	}
	return "export PATH=" + filepath.Dir(strings.TrimSpace(string(out))) + `:"$PATH"; `
}

// Programs find the proxy by the variables that they read, and ask for their host by it. A program that
// ignores them is refused at once, and the end of its output names the way.
func TestPresets(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	r := newRig(t)
	r.before = func(work string) {
		for name, text := range map[string]string{"Fetch.java": fetchJava, "crate/src/lib.rs": "",
			"crate/Cargo.toml":         "[package]\nname = \"crate\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nthing = { version = \"1\", registry = \"own\" }\n",
			"crate/.cargo/config.toml": "[registries.own]\nindex = \"sparse+http://cargo.example.com/\"\n"} {
			path := filepath.Join(work, filepath.FromSlash(name))
			testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			testenv.Must(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	m := r.member("ann", required)
	for _, c := range testenv.Rows(t, presetCases, 3) {
		t.Run(c.name, func(t *testing.T) {
			testenv.Require(t, c.name)
			bare := `env -i PATH="$PATH" HOME=/tmp TMPDIR=/tmp sh -c '` + strings.ReplaceAll(c.script, `'`, `'\''`) + `'`
			got := m.run(toolchain(t) + bare)
			if got.exit.Code == 0 || !strings.Contains(got.out, "[waggle: ") || !strings.Contains(got.out, "HTTPS_PROXY or ALL_PROXY (http://127.0.0.1:3128)") {
				t.Errorf("without variables: %+v", got)
			}
			if c.ignores {
				return
			}
			done := m.start(toolchain(t) + "export HOME=/tmp; " + c.script)
			id := ""
			r.Until("it asks for "+c.host, func(l *control.Leader) bool {
				for _, p := range l.Pending() {
					if strings.HasPrefix(p.Ask.Host, c.host) {
						id = string(p.ID)
						return true
					}
				}
				select {
				case got := <-done:
					t.Fatalf("it did not ask: %+v", got)
				default:
				}
				return false
			})
			r.net(decide.NetAnswer{ID: id})
			if got := m.wait(done); got.exit.Code == 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}
