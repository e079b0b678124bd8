package cmdline

import (
	"path"
	"slices"
	"strings"
)

// credentialFiles are base names of files that hold passwords, keys or tokens.
var credentialFiles = Names(`.netrc _netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .vault-token .htpasswd .dockercfg .boto .s3cfg .terraformrc
	application_default_credentials.json .credentials.json credentials.json credentials.tfrc.json service-account.json secrets.yml secrets.yaml secrets.json master.key
	shadow gshadow sudoers id_rsa id_dsa id_ecdsa id_ed25519 id_ed25519_sk id_ecdsa_sk identity environ .envrc
	.bash_history .zsh_history .python_history .psql_history .mysql_history .node_repl_history
	krb5.keytab accesstokens.json msal_token_cache.json access_tokens.db credentials.db login.keychain-db`)

// credentialDirs are directories whose files are credentials.
var credentialDirs = Names(`.ssh .gnupg .aws .azure .password-store .kube .oci`)

// credentialTails are parts of paths: a file, or a directory with all that it holds.
var credentialTails = []string{
	"/.docker/config.json/", "/gh/hosts.yml/", "/glab-cli/config.yml/", "/.cargo/credentials/", "/.cargo/credentials.toml/", "/gem/credentials/",
	"/.config/gcloud/", "/.subversion/auth/", "/containers/auth.json/", "/.m2/settings.xml/", "/.gradle/gradle.properties/",
	"/rclone/rclone.conf/", "/.config/hub/", "/.config/op/", "/Library/Keychains/",
}

// CredentialPath reports whether a path names a file with credentials. A wildcard that may match
// one counts.
func CredentialPath(p string) bool {
	clean := path.Clean(strings.ReplaceAll(p, `\`, "/"))
	base := path.Base(clean)
	low := strings.ToLower(base)
	switch {
	case credentialFiles[low]:
		return low != "environ" && low != "identity" && low != "shadow" && low != "gshadow" && low != "sudoers" || strings.Contains(clean, "/")
	case strings.HasPrefix(low, ".env"):
		return !slices.Contains([]string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".environment"}, low)
	case strings.HasSuffix(low, ".env"), strings.HasSuffix(low, ".pem"), strings.HasSuffix(low, ".key"), strings.HasSuffix(low, ".p12"),
		strings.HasSuffix(low, ".pfx"), strings.HasSuffix(low, ".keystore"), strings.HasSuffix(low, ".jks"), strings.HasSuffix(low, ".kdbx"):
		return true
	case strings.HasPrefix(low, "id_") && strings.ContainsAny(low, "*?["):
		return true
	case strings.HasSuffix(low, ".pub"), low == "known_hosts":
		return false
	}
	for _, part := range strings.Split(clean, "/") {
		if credentialDirs[strings.ToLower(part)] {
			return true
		}
	}
	clean = "/" + clean + "/"
	return slices.ContainsFunc(credentialTails, func(tail string) bool { return strings.Contains(clean, tail) })
}

// credentialKey reports whether a key of git's configuration holds a credential.
func credentialKey(key string) bool {
	key = strings.ToLower(key)
	return strings.HasPrefix(key, "credential") || strings.HasSuffix(key, "extraheader") || secretName().MatchString(key)
}

// secretName matches names of variables and keys that hold secrets.
var secretName = Pattern(`(?i)(token|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|(^|_)auth($|_)|(^|_)pw$|(^|_)pat$)`)

// NamesCredential reports whether a command names a file, a variable or a key
// that holds credentials.
func NamesCredential(c []Word) bool {
	name := BaseName(c[0].Text)
	if talkers[name] {
		return false
	}
	words := c[1:]
	if name == "git" {
		if Spells(c, "config", "var") && slices.ContainsFunc(words, func(w Word) bool { return credentialKey(w.Text) }) {
			return true
		}
		if Spells(words[:min(1, len(words))], "commit") {
			return false // text for people, and files that git has
		}
	}
	for _, w := range words {
		if name == "jq" && (strings.Contains(w.Text, "$ENV") || jqEnv().MatchString(w.Text)) {
			return true
		}
		names := func(piece string) bool {
			return piece != "" && !strings.ContainsAny(piece, " \n") && CredentialPath(piece)
		}
		if names(w.Text) || strings.ContainsAny(w.Text, "=:,@") && slices.ContainsFunc(strings.FieldsFunc(w.Text, func(r rune) bool { return strings.ContainsRune("=:,@", r) }), names) {
			return true
		}
	}
	return false
}

var jqEnv = Pattern(`(^|[^."A-Za-z0-9_])env($|[^A-Za-z0-9_"])`)
