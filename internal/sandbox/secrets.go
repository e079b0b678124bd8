package sandbox

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// homeSecrets are files and directories below a home directory that hold credentials,
// private history, or settings that decide what agents may do. In those of the last line servers listen, also ones that
// begin while a command runs.
const homeSecrets = `
	.ssh .gnupg .aws .azure .oci .kube .password-store .age .fly .heroku
	.netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .vault-token .s3cfg .boto .dockercfg .terraformrc
	.docker/config.json .cargo/credentials .cargo/credentials.toml .gem/credentials .terraform.d/credentials.tfrc.json
	.subversion/auth .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties
	.config/gcloud .config/git/credentials .config/gh .config/glab-cli .config/hub .config/op .config/rclone .config/doctl .config/sops
	.config/containers/auth.json .config/configstore .config/waggle
	.local/share/keyrings .local/share/kwalletd .local/share/containers/auth.json
	.mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge .config/vivaldi .config/opera
	snap/firefox snap/chromium .var/app/org.mozilla.firefox .var/app/com.google.Chrome
	.bash_history .zsh_history .python_history .psql_history .mysql_history .sqlite_history .node_repl_history .lesshst
	.claude.json
	.codex/auth.json .codex/config.toml .gemini/oauth_creds.json .gemini/settings.json
	Library/Keychains Library/Cookies Library/Safari
	Library/Application$Support/Google/Chrome Library/Application$Support/Firefox Library/Application$Support/BraveSoftware
	Library/Application$Support/Microsoft$Edge
	.docker/run .docker/desktop .colima .lima .orbstack/run .1password .local/share/containers/podman`

// claudeSecrets are the files and directories of a Claude Code configuration directory that hold
// logins, settings, and what sessions say, run and changed.
const claudeSecrets = `.claude.json .credentials.json settings.json settings.local.json history.jsonl projects
	sessions backups file-history shell-snapshots session-env paste-cache image-cache debug todos plans`

// systemSecrets are files that root can read without any capability.
const systemSecrets = `/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private
	/etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key /etc/krb5.keytab /etc/docker /etc/kubernetes /etc/wireguard
	/etc/NetworkManager/system-connections /var/lib/docker /var/lib/containerd /var/lib/kubelet /var/spool/cron /var/mail /var/log/audit
	/private/etc/master.passwd /boot`

// Secrets is the default list of secrets for a home directory.
func Secrets(home string) []string {
	return slices.Concat(in(home, homeSecrets), ConfigSecrets(filepath.Join(home, ".claude")), strings.Fields(systemSecrets))
}

// ConfigSecrets is the default list of secrets for a configuration directory of Claude Code.
func ConfigSecrets(config string) []string { return in(config, claudeSecrets) }

// in are the paths of a list, in which $ stands for a blank, below a directory.
func in(dir, list string) (paths []string) {
	for _, p := range strings.Fields(list) {
		paths = append(paths, filepath.Join(dir, strings.ReplaceAll(p, "$", " ")))
	}
	return paths
}

// caches are the directories below a home directory in which builds keep downloads and results. None of them holds
// programs that the person starts, or credentials: of poetry's, not the virtual environments.
var caches = map[string]string{
	"cargo":   ".cargo/registry .cargo/git",
	"ccache":  ".cache/ccache .ccache Library/Caches/ccache",
	"go":      "go/pkg/mod .cache/go-build Library/Caches/go-build",
	"maven":   ".m2/repository",
	"npm":     ".npm",
	"pip":     ".cache/pip Library/Caches/pip",
	"pnpm":    ".local/share/pnpm/store .cache/pnpm Library/pnpm/store Library/Caches/pnpm",
	"poetry":  ".cache/pypoetry/cache .cache/pypoetry/artifacts Library/Caches/pypoetry/cache Library/Caches/pypoetry/artifacts",
	"sccache": ".cache/sccache Library/Caches/Mozilla.sccache",
	"uv":      ".cache/uv Library/Caches/uv",
	"yarn":    ".yarn/berry/cache .yarn/berry/metadata .cache/yarn Library/Caches/Yarn",
}

// CacheNames are the names that Caches knows.
func CacheNames() []string { return slices.Sorted(maps.Keys(caches)) }

// Caches returns the directories of a named cache below a home directory; nil for an unknown name.
// The builds of other members use what one member writes there.
func Caches(name, home string) []string { return in(home, caches[name]) }
