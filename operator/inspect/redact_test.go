package inspect_test

import (
	"encoding/json"
	"testing"

	"waggle/operator/inspect"
)

func TestRedactor(t *testing.T) {
	t.Parallel()
	r := inspect.NewRedactor([]string{"API_KEY=correct-horse", "HOME=/home/someone", "TOKEN=short", "EMPTY_SECRET="})
	for in, want := range map[string]string{
		"echo correct-horse":                                                 "echo [redacted]",
		"cd /home/someone; echo short":                                       "cd /home/someone; echo short",
		"curl -H 'Authorization: Bearer abcdefgh12345'":                      "curl -H 'Authorization: Bearer [redacted]'",
		"mysql --password hunter2 db":                                        "mysql --password [redacted] db",
		"PASSWORD=hunter2 ./run":                                             "PASSWORD=[redacted] ./run",
		`{\"api_key\":\"abc\"}`:                                              `{\"api_key\":\"[redacted]\"}`,
		"git clone https://me:hunter2@example.com/x.git":                     "git clone https://me:[redacted]@example.com/x.git",
		"ghp_012345678901234567890123":                                       "[redacted]",
		"AKIAABCDEFGHIJKLMNOP and text":                                      "[redacted] and text",
		"-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\nrest": "[redacted]\nrest",
		"go test ./... -run TestToken":                                       "go test ./... -run TestToken",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	in := `{"input":"{\"command\":\"x\",\"token\":\"abc def\"}","secret":"s","n":9007199254740993,"list":["correct-horse",{"passwd":"p"}],"ok":"<&>"}`
	want := `{"input":"{\"command\":\"x\",\"token\":\"[redacted]\"}","list":["[redacted]",{"passwd":"[redacted]"}],"n":9007199254740993,"ok":"<&>","secret":"[redacted]"}`
	if got := string(r.JSON(json.RawMessage(in))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := string(r.JSON(json.RawMessage("{"))); got != `"[redacted]"` {
		t.Errorf("what cannot be read becomes %s", got)
	}
}
