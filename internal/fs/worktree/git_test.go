package worktree_test

import (
	"slices"
	"testing"

	"waggle/internal/fs/worktree"
)

// Explicit adds one setting to those that an environment has for git already.
func TestExplicit(t *testing.T) {
	for _, tc := range []struct{ have, want []string }{
		{[]string{"A=1"}, []string{"A=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.bareRepository", "GIT_CONFIG_VALUE_0=explicit"}},
		{[]string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"},
			[]string{"GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_1=safe.bareRepository", "GIT_CONFIG_VALUE_1=explicit"}},
		{[]string{"GIT_CONFIG_COUNT=", "GIT_CONFIG_PARAMETERS='a=b'"}, []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.bareRepository", "GIT_CONFIG_VALUE_0=explicit"}},
		{[]string{"GIT_CONFIG_COUNT= 1"}, []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_1=safe.bareRepository", "GIT_CONFIG_VALUE_1=explicit"}},
		{[]string{"GIT_CONFIG_COUNT=x"}, []string{"GIT_CONFIG_COUNT=x"}},
		{[]string{"GIT_CONFIG_COUNT=-1"}, []string{"GIT_CONFIG_COUNT=-1"}},
	} {
		if got := worktree.Explicit(tc.have); !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.have, got, tc.want)
		}
	}
}
