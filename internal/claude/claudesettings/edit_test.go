package claudesettings_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/test/testenv"
)

var update = flag.Bool("update", false, "write the .after files anew")

// waggle is the program that the tests install.
const waggle = "/opt/my tools/waggle"

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	testenv.Must(t, err)
	return b
}

func install(t *testing.T, data []byte, program string) []byte {
	t.Helper()
	after, err := claudesettings.Claude.Install(data, program, "")
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return after
}

// golden compares with the file beside, or writes it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		testenv.Must(t, os.WriteFile(path, got, 0o600))
	}
	if d := cmp.Diff(string(read(t, path)), string(got)); d != "" {
		t.Errorf("%s:\n%s", path, d)
	}
}

// The install of every settings file gives its .after file; a second install changes nothing; and
// an uninstall with the original bytes restores every byte.
func TestInstallAndUninstallFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/settings/*.before")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			before := read(t, path)
			after := install(t, before, waggle)
			golden(t, strings.TrimSuffix(path, ".before")+".after", after)
			if again := install(t, after, waggle); !bytes.Equal(again, after) {
				t.Errorf("a second install:\n%s", cmp.Diff(string(after), string(again)))
			}
			moved := install(t, install(t, before, "/elsewhere/waggle"), waggle)
			if !bytes.Equal(moved, after) {
				t.Errorf("an install from another path, then this one:\n%s", cmp.Diff(string(after), string(moved)))
			}
			back, err := claudesettings.Claude.Uninstall(after, before, "")
			testenv.Must(t, err)
			want := before
			if name := filepath.Base(path); name == "empty.before" || name == "comment-only.before" {
				want = bytes.Replace(after, after[bytes.IndexByte(after, '{'):], []byte("{}\n"), 1) // the store gives these back
			}
			if d := cmp.Diff(string(want), string(back)); d != "" {
				t.Errorf("after an uninstall:\n%s", d)
			}
		})
	}
}

// Existing entries are updated in place, and second entries are removed.
func TestInstallUpdatesInPlace(t *testing.T) {
	path := "testdata/settings/ours-old-path.again"
	after := install(t, read(t, path), waggle)
	golden(t, strings.TrimSuffix(path, ".again")+".after-again", after)
	if n := bytes.Count(after, []byte("hook claude Stop\"")); n != 1 {
		t.Errorf("%d entries for Stop", n)
	}
}

func TestInstallRefuses(t *testing.T) {
	files, err := filepath.Glob("testdata/settings/*.refused")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		want := strings.TrimSpace(string(read(t, strings.TrimSuffix(path, ".refused")+".why")))
		after, err := claudesettings.Claude.Install(read(t, path), waggle, "")
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s\n%s", path, err, want, after)
		}
	}
	for name, data := range map[string]string{
		"too deep":  strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200),
		"too large": `{"a": "` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		if _, err := claudesettings.Claude.Install([]byte(data), waggle, ""); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The published format: what an install writes into an empty file, read as JSON.
func TestInstallWritesThePublishedFormat(t *testing.T) {
	type handler struct {
		Type, Command string
		Timeout       int
	}
	var got struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []handler
		}
	}
	dec := json.NewDecoder(bytes.NewReader(install(t, nil, waggle)))
	dec.DisallowUnknownFields()
	testenv.Must(t, dec.Decode(&got))
	if len(got.Hooks) != len(claudesettings.Claude.Events()) {
		t.Errorf("%d events", len(got.Hooks))
	}
	for _, ev := range claudesettings.Claude.Events() {
		g := got.Hooks[ev.Name]
		want := handler{"command", "'/opt/my tools/waggle' hook claude " + ev.Name, ev.Timeout}
		if len(g) != 1 || g[0].Matcher != ev.Matcher || len(g[0].Hooks) != 1 || g[0].Hooks[0] != want {
			t.Errorf("%s: %+v", ev.Name, g)
		}
	}
	if ev := claudesettings.Claude.Events()[0]; ev.Name != "PermissionRequest" || ev.Timeout != 86400 {
		t.Errorf("%+v", ev)
	}
}

// An uninstall of a file that was edited after the install removes our entries and nothing else.
func TestUninstallAfterEdits(t *testing.T) {
	for name, tc := range map[string]struct {
		before string
		edit   func(after string) string
		want   string
	}{
		"a key was added": {
			"{\n  \"a\": 1\n}\n",
			func(s string) string { return strings.Replace(s, `"a": 1`, `"a": 2, // two`, 1) },
			"{\n  \"a\": 2 // two,\n}\n", // the comma of ours stood in that comment
		},
		"a key was put behind the hooks": {
			"{\n  \"a\": 1\n}\n",
			func(s string) string { return strings.TrimSuffix(s, "\n}\n") + ",\n  \"b\": 2\n}\n" },
			"{\n  \"a\": 1,\n  \"b\": 2\n}\n",
		},
		"a hook of somebody stands behind ours": {
			"{}",
			func(s string) string {
				return strings.Replace(s, "\n    ],\n    \"PreToolUse\"", ",\n      {\"hooks\": []}\n    ],\n    \"PreToolUse\"", 1)
			},
			"{\n  \"hooks\": {\n    \"PermissionRequest\": [\n      {\"hooks\": []}\n    ]\n  }\n}",
		},
		"somebody put a hook into our group": {
			"{}",
			func(s string) string {
				return strings.Replace(s, "\"timeout\": 86400\n          }", "\"timeout\": 86400\n          }, {\"type\": \"command\", \"command\": \"x\"}", 1)
			},
			"{\n  \"hooks\": {\n    \"PermissionRequest\": [\n      {\n        \"matcher\": \"*\",\n        \"hooks\": [ {\"type\": \"command\", \"command\": \"x\"}\n        ]\n      }\n    ]\n  }\n}",
		},
		"a line comment stands before ours on another line": {
			`{"hooks": {"Stop": [1]}}`,
			func(s string) string { return strings.Replace(s, "[1, ", "[1, // one\n", 1) },
			"{\"hooks\": {\"Stop\": [1 // one\n]}}",
		},
		"nothing of ours is left": {
			"{\n}", func(string) string { return "{ \"x\": [ ] }" }, "{ \"x\": [ ] }",
		},
	} {
		after := string(install(t, []byte(tc.before), waggle))
		edited := tc.edit(after)
		if edited == after {
			t.Errorf("%s: the edit did nothing to\n%s", name, after)
		}
		got, err := claudesettings.Claude.Uninstall([]byte(edited), []byte(tc.before), "")
		if d := cmp.Diff(tc.want, string(got)); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}
}

// Only commands of the exact form belong to waggle.
func TestForeignCommandsStay(t *testing.T) {
	for command, ours := range map[string]bool{
		"/usr/bin/waggle hook claude Stop":                true,
		"'/a b/waggle' hook claude Stop":                  true,
		`'/it'\\''s/waggle' hook claude Stop`:             true,
		"/usr/bin/waggle-2.1 hook claude Stop":            true,
		`'C:\\bin\\waggle.exe' hook claude Stop`:          true,
		"/recorded/renamed hook claude Stop":              true,
		"/other/renamed hook claude Stop":                 false,
		"waggle hook claude Stop":                         false,
		"/usr/bin/waggle hook claude Start":               false,
		"/usr/bin/waggle hook claude Stop || true":        false,
		"X=1 /usr/bin/waggle hook claude Stop":            false,
		"/usr/bin/waggle  hook claude Stop":               false,
		"'/usr/bin/waggle' hook claude Stop":              false, // quoted without need: not by us
		"/usr/bin/waggle; rm -rf /x hook claude Stop":     false,
		"/usr/bin/notwaggle hook claude Stop":             false,
		"/usr/bin/waggle/other hook claude Stop":          false,
		"'/usr/bin/waggle' '/x waggle' hook claude Stop":  false,
		`/bin/sh -c '/usr/bin/waggle hook claude Stop'`:   false,
		"/usr/bin/waggle hook claude stop":                false,
		"hook claude Stop":                                false,
		" hook claude Stop":                               false,
		"/usr/bin/waggle hook claude Stop\\n":             false,
		"/usr/bin/waggle hook claude Stop && echo waggle": false,
	} {
		data := []byte(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "` + command + `"}]}]}}`)
		got, err := claudesettings.Claude.Uninstall(data, nil, "/recorded/renamed")
		testenv.Must(t, err)
		if taken := !bytes.Equal(got, data); taken != ours {
			t.Errorf("%q: ours %v, want %v: %s", command, taken, ours, got)
		}
	}
}
