//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/testenv"
)

// TestUpBesideStatus: up succeeds while other processes run status on the same team again and again.
func TestUpBesideStatus(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.ends("api")
	file := h.write("api.yaml", crew("api", "process", 2))
	stop := filepath.Join(h.work, "stop")
	looked := make(chan struct{})
	lookers := testenv.Scale(2, 4)
	for range lookers {
		go func() {
			defer func() { looked <- struct{}{} }()
			for {
				if exists(stop) {
					return
				}
				h.waggle("status", "--team", "api") // there may be none
			}
		}()
	}
	for range testenv.Scale(2, 5) {
		if out, said, code := h.waggle("up", file, "--detach"); code != 0 {
			t.Errorf("up: exit %d: %s%s", code, out, said)
			break
		}
		h.waggle("down", "--team", "api", "--force")
	}
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Error(err)
	}
	for range lookers {
		<-looked
	}
}
