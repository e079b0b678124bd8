package policy_test

import (
	"testing"

	"waggle/policy"
)

// TestNothingIsAllowedBehindAChange: no rule allows a command that follows one after which words
// may mean something else or the directory is outside the working directory. The same command
// before it, or without it, is allowed.
func TestNothingIsAllowedBehindAChange(t *testing.T) {
	t.Parallel()
	p := policy.Policy{Allow: policy.MustRules("Bash(ls:*)", "Bash(go test:*)", "Bash(git:*)", "Bash(cd:*)", "Bash(pushd:*)", "Bash(popd:*)", "Bash(printf:*)",
		"Bash(export:*)", "Bash(declare:*)", "Bash(typeset:*)", "Bash(readonly:*)", "Bash(alias:*)", "Bash(hash:*)", "Bash(enable:*)", "Bash(set:*)", "Bash(shopt:*)",
		"Bash(source:*)", "Bash(.:*)", "Bash(read:*)", "Bash(unset:*)", "Bash(eval:*)", "Bash(trap:*)", "Bash(command:*)", "Bash(builtin:*)", "Bash(test:*)", "Bash([:*)",
		"Bash(mapfile:*)", "Bash(wait:*)", "Bash(getopts:*)", "Bash(exec:*)", "Bash(echo:*)")}
	for _, change := range []string{
		"cd /tmp", "cd ..", "cd", "cd -", "cd ~", "cd ../other", "cd sub/../..", "cd a/../../b", "cd -P x", "cd /work/other", "cd /work/api2", "cd a b", "cd ''", "cd -- ..", "command cd /tmp", "builtin cd ..",
		"command -- cd ..", "cd sub && cd ..", "pushd /tmp", "pushd ..", "pushd +1", "pushd", "popd",
		"printf -v PATH x", "printf -v X %s a", "printf -vX a", "export X=1", "export PATH=/tmp", "export LD_PRELOAD=x.so", "export -n X", "declare X=1", "declare -x BASH_ENV=x", "typeset X=1", "readonly PATH",
		"alias ls=rm", "alias x", "hash -p /tmp/x ls", "hash -r", "enable -n echo", "set -a", "set -k", "set -x", "set -- a b", "shopt -s expand_aliases", "source env.sh", ". env.sh", "read PATH", "unset PATH",
		"eval ls", "trap ls EXIT", "let x=1", "mapfile a", "wait", "getopts a b", "command export X=1", "builtin alias ls=rm", "exec",
	} {
		for _, later := range []string{"ls", "go test ./...", "git status && ls"} {
			for _, join := range []string{" && ", "; ", " || ", "\n", " | "} {
				if v := p.Judge(bash(change + join + later)); v.Decision != ask {
					t.Errorf("%q: %+v", change+join+later, v)
				}
			}
			if v := p.Judge(bash(later + "; ls")); v.Decision != allow {
				t.Errorf("%q: %+v", later, v)
			}
		}
		if v := p.Judge(bash("sh -c '" + change + "; ls'")); v.Decision != ask {
			t.Errorf("sh -c %q; ls: %+v", change, v)
		}
	}
	for _, text := range []string{"cd sub && ls", "cd sub; go test ./...", "cd /work/api/sub && ls", "cd /work/api && ls", "cd ./sub && cd deeper && ls", "pushd sub && ls", "cd -- sub && ls",
		"set -euo pipefail; ls", "set -e; go test ./...", "printf '%s' x; ls", "test -f x && ls", "[ -f x ] && ls", "ls; cd /tmp", "ls && export X=1"} {
		if v := p.Judge(bash(text)); v.Decision != allow {
			t.Errorf("%q: %+v", text, v)
		}
	}
	// Subscripts that bash evaluates, and with them the commands in them.
	for _, text := range []string{"test -v 'a[$(x)]'", "[ -v 'a[$(x)]' ]", "test 'a[1]' -eq 1", "printf -v 'a[$(x)]' y", "read 'a[$(x)]'", "unset 'a[$(x)]'", "declare 'a[$(x)]=1'",
		"export 'a[$(x)]=1'", "let 'a[$(x)]=1'", "command test -v 'a[$(x)]'", "builtin unset 'a[`x`]'", "mapfile -O 'a[$(x)]' b", "wait -p 'a[$(x)]'", "getopts x 'a[$(x)]'"} {
		if v := p.Judge(bash(text)); v.Decision != ask {
			t.Errorf("%q: %+v", text, v)
		}
	}
	for _, prefix := range []string{"PATH=/tmp ", "LD_PRELOAD=x.so ", "BASH_ENV=x ", "X=1 ", "PATH=/tmp; ", "X=1; "} {
		if v := p.Judge(bash(prefix + "ls")); v.Decision != ask {
			t.Errorf("%q: %+v", prefix+"ls", v)
		}
	}
}
