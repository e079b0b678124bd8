package foreigntest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/record"
)

// A host that a member of another program asks for is judged and shown in the same spelling as any
// other's, and answered in the member's own spelling. A name that some reader takes for another host
// is not asked for at all.
func TestForeignHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, shown string }{
		{"example.com", "example.com"},
		{"EXAMPLE.com.", "example.com"},
		{"https://Example.com", "example.com:443"},
		{"example.com:0443", "example.com:443"},
		{"127.1", ""},
		{"*.Example.com", "*.example.com"},
		{"*", ""},
		{"user@example.com", ""},
	} {
		s := newStage(t, "worker")
		s.says("bob", fmt.Sprintf(`{"type":"sandbox_permission_request","requestId":"r","workerId":"bob","workerName":"bob","hostPattern":{"host":%q},"createdAt":1}`, c.asked))
		qs, err := decide.Of(s.op).Pending(t.Context(), s.team, false)
		testenv.Must(t, err)
		if c.shown == "" {
			if len(qs) != 0 {
				t.Errorf("%s can be answered: %+v", c.asked, qs)
			}
			continue
		}
		if len(qs) != 1 || (record.Ask{Host: qs[0].Host, Port: qs[0].Port}).Hostport() != c.shown {
			t.Errorf("%s is shown as %+v, want %s", c.asked, qs, c.shown)
			continue
		}
		s.answers(!strings.HasPrefix(c.asked, "*.")) // allowing a pattern takes a confirmation
		raw, err := os.ReadFile(filepath.Join(s.them.team, "inboxes", "bob.json"))
		testenv.Must(t, err)
		var es []entry
		testenv.Must(t, json.Unmarshal(raw, &es))
		var answer struct{ Host string }
		testenv.Must(t, json.Unmarshal([]byte(es[len(es)-1].Text), &answer))
		if answer.Host != c.asked {
			t.Errorf("%s is answered as %s", c.asked, answer.Host)
		}
	}
}
