package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waggle/internal/pattern"
	"waggle/internal/sandbox/relay"
	"waggle/spawn"
)

// secretVariable matches the names of variables that hold secrets.
var secretVariable = pattern.New(`(?i)(token|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|(^|_)auth($|_)|(^|_)pw$|(^|_)pat$|cookie)`)

// leads are variables that name sockets and displays that the sandbox does not have: agents, buses, daemons.
// Terminals are spawn.ScopeTerminal.
var leads = strings.Fields(`SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS XDG_RUNTIME_DIR
	DOCKER_HOST CONTAINER_HOST
	DISPLAY WAYLAND_DISPLAY XAUTHORITY SYSTEMD_EXEC_PID NOTIFY_SOCKET LISTEN_FDS LISTEN_PID INVOCATION_ID JOURNAL_STREAM
	VSCODE_IPC_HOOK_CLI VSCODE_GIT_IPC_HANDLE VSCODE_GIT_ASKPASS_NODE VSCODE_GIT_ASKPASS_MAIN GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS
	KRB5CCNAME GOOGLE_APPLICATION_CREDENTIALS AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE KUBECONFIG
	HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY http_proxy https_proxy all_proxy ftp_proxy no_proxy RSYNC_PROXY
	PROMPT_COMMAND BASH_ENV ENV LD_PRELOAD LD_AUDIT`)

// environ is what comes in of an environment, and what programs must know inside. port is
// where the proxy is; 0: there is none.
func environ(base []string, p Profile, relayPath string, port int) []string {
	var env []string
	for _, e := range base {
		name, value, _ := strings.Cut(e, "=")
		if slices.Contains(p.KeepEnv, name) || !slices.Contains(leads, name) && !spawn.InScope(name, spawn.ScopeTerminal) && !looksSecret(name, value) {
			env = setEnv(env, name, value)
		}
	}
	env = setEnv(env, "TMPDIR", "/tmp")
	env = setEnv(env, "WAGGLE_SANDBOX", "1")
	if port == 0 {
		return env
	}
	for _, preset := range presets(relayPath, port, p.Loopback) {
		name, value, _ := strings.Cut(preset, "=")
		if old := spawn.Getenv(env, name); name == "JAVA_TOOL_OPTIONS" && old != "" {
			value = old + " " + value
		}
		env = setEnv(env, name, value)
	}
	return env
}

// credentialURL matches a URL with a password in it.
var credentialURL = pattern.New(`[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@`)

func looksSecret(name, value string) bool {
	return secretVariable().MatchString(name) || credentialURL().MatchString(value)
}

// Kept returns the names of the variables of an environment that stay outside because they look like secrets.
func (p Profile) Kept(base []string) (names []string) {
	for _, e := range base {
		if name, value, _ := strings.Cut(e, "="); looksSecret(name, value) && !slices.Contains(p.KeepEnv, name) && !slices.Contains(leads, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// presets are the variables by which programs find the proxy: most by the first few,
// some by one of their own. A program that looks for a newer version of itself would make a
// request for a host that the command does not need: variables turn that off. No variable names SOCKS:
// Python's httpx fails with one that it has no module for, also where it needs another. outside are loopback
// addresses that are not the sandbox's own.
func presets(relayPath string, port int, outside []string) []string {
	addr := "127.0.0.1:" + strconv.Itoa(port)
	own := slices.DeleteFunc([]string{"localhost", "127.0.0.1", "::1"}, func(h string) bool { return slices.Contains(outside, h) })
	http, local := "http://"+addr, strings.Join(own, ",")
	return []string{
		"HTTP_PROXY=" + http, "HTTPS_PROXY=" + http, "ALL_PROXY=" + http, "NO_PROXY=" + local,
		"http_proxy=" + http, "https_proxy=" + http, "all_proxy=" + http, "no_proxy=" + local,
		"NODE_USE_ENV_PROXY=1",
		"npm_config_proxy=" + http, "npm_config_https_proxy=" + http, "npm_config_noproxy=" + local,
		"npm_config_update_notifier=false", "NO_UPDATE_NOTIFIER=1", "PIP_DISABLE_PIP_VERSION_CHECK=1",
		"CARGO_HTTP_PROXY=" + http, "CARGO_NET_GIT_FETCH_WITH_CLI=true",
		"GIT_SSH_COMMAND=" + fmt.Sprintf("ssh -o ProxyCommand='%s %s connect %%h %%p'", relayPath, relay.Subcommand),
		"JAVA_TOOL_OPTIONS=" + fmt.Sprintf("-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=%d -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=%d -Dhttp.nonProxyHosts=%s", port, port, strings.Join(own, "|")),
	}
}

// setEnv replaces a variable, or adds it.
func setEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(env, name+"="+value)
}
