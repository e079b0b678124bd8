package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"waggle/internal/sandbox"
)

func TestEnviron(t *testing.T) {
	base := []string{"PATH=/bin", "GITHUB_TOKEN=x", "ANTHROPIC_API_KEY=y", "SSH_AUTH_SOCK=/s", "DATABASE_URL=postgres://u:p@h/d", "HTTPS_PROXY=http://evil", "LD_PRELOAD=/x.so",
		"AUTHOR=ada", "TOKENIZERS=3", "KEYMAP=de", "JAVA_TOOL_OPTIONS=-Xmx1g", "NPM_TOKEN=z"}
	env := sandbox.Environ(base, sandbox.Profile{KeepEnv: []string{"NPM_TOKEN"}}, "/run/waggle/relay", 3128)
	for _, want := range []string{"PATH=/bin", "AUTHOR=ada", "KEYMAP=de", "NPM_TOKEN=z", "TMPDIR=/tmp", "HTTPS_PROXY=http://127.0.0.1:3128", "ALL_PROXY=http://127.0.0.1:3128"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if slices.Contains([]string{"GITHUB_TOKEN", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "DATABASE_URL", "LD_PRELOAD"}, name) {
			t.Errorf("%s came in", e)
		}
		if name == "JAVA_TOOL_OPTIONS" && (!strings.HasPrefix(value, "-Xmx1g ") || !strings.Contains(value, "-Dhttps.proxyPort=3128")) {
			t.Errorf("%s", e)
		}
	}
	// A tool that checks for a newer version of itself would make a request for a host.
	for _, want := range []string{"npm_config_update_notifier=false", "NO_UPDATE_NOTIFIER=1", "PIP_DISABLE_PIP_VERSION_CHECK=1"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, e := range sandbox.Environ(base, sandbox.Profile{}, "/run/waggle/relay", 0) {
		if strings.Contains(strings.ToLower(e), "proxy=http") {
			t.Errorf("without a network: %s", e)
		}
	}
}

// TestKept: what looks like a secret is named, unless it comes in.
func TestKept(t *testing.T) {
	p := sandbox.Profile{KeepEnv: []string{"NPM_TOKEN"}}
	got := p.Kept([]string{"PATH=/bin", "NPM_TOKEN=z", "GH_TOKEN=x", "DATABASE_URL=postgres://u:p@h/d", "SSH_AUTH_SOCK=/s", "GH_TOKEN=y"})
	if want := []string{"DATABASE_URL", "GH_TOKEN"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A loopback address outside is reached by the proxy, the others are the sandbox's own.
func TestEnvironLoopback(t *testing.T) {
	env := sandbox.Environ(nil, sandbox.Profile{Loopback: []string{"127.0.0.1", "localhost"}}, "/run/waggle/relay", 3128)
	if !slices.Contains(env, "NO_PROXY=::1") || !slices.Contains(env, "no_proxy=::1") || !slices.Contains(env, "npm_config_noproxy=::1") {
		t.Errorf("%q", env)
	}
}

func TestCaches(t *testing.T) {
	for _, name := range sandbox.CacheNames() {
		if dirs := sandbox.Caches(name, "/home/ada"); len(dirs) == 0 || !strings.HasPrefix(dirs[0], "/home/ada/") {
			t.Errorf("%s: %v", name, dirs)
		}
	}
	if sandbox.Caches("gradle", "/home/ada") != nil {
		t.Error("a cache that is not known")
	}
}
