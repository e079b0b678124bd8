package team_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/team"
)

// The files of an earlier member of a name are moved whole, a link as a link, and an empty
// directory is not moved.
func TestPutFilesAway(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	kept := filepath.Join(t.TempDir(), "archive")
	create(t, r, team.Config{Name: "api"})
	tm := openTeam(t, r, "api", options())
	tm = tm.KeepIn(kept)
	away := func(want string) {
		t.Helper()
		if want != "" {
			want = filepath.Join(kept, want)
		}
		if got, err := tm.PutFilesAway("w"); got != want || err != nil {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
	}
	dir := r.MemberDir("api", "w")
	away("")
	testenv.Must(t, os.MkdirAll(filepath.Join(dir, "artifacts"), 0o700))
	away("")
	write(t, filepath.Join(dir, "artifacts", "a", "report.md"), "old")
	write(t, filepath.Join(dir, "output.log"), "old log")
	away("w-20261120T120000.123Z")
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if got := read(t, filepath.Join(kept, "w-20261120T120000.123Z", "artifacts", "a", "report.md")); got != "old" {
		t.Errorf("archived %q", got)
	}
	precious := t.TempDir()
	write(t, filepath.Join(precious, "file"), "mine")
	if err := os.Symlink(precious, dir); err != nil {
		t.Skip(err)
	}
	away("w-20261120T120000.123Z-2")
	if got := read(t, filepath.Join(precious, "file")); got != "mine" {
		t.Errorf("what a link showed is %q", got)
	}
}

const oldMail = `[{"from":"x","text":"old","timestamp":"2026-01-01T00:00:00.000Z"}]`

func TestOldMailIsKeptOutsideTheTeam(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	tm := openTeam(t, r, "api", options())
	kept := filepath.Join(t.TempDir(), "archive")
	tm = tm.KeepIn(kept)
	write(t, filepath.Join(r.InboxesDir("api"), "w.json"), oldMail)
	_, archived := add(t, tm, team.Member{Name: "w"}, false)
	if archived != filepath.Join(kept, "w-20261120T120000.123Z.json") || read(t, archived) != oldMail {
		t.Errorf("%s", archived)
	}
	if got := read(t, filepath.Join(r.InboxesDir("api"), "w.json")); got != "[]" {
		t.Errorf("the new member would read %s", got)
	}
	if _, err := os.Lstat(filepath.Join(r.TeamDir("api"), "archive")); !os.IsNotExist(err) {
		t.Errorf("an archive in the team's own directory: %v", err)
	}
}

func TestOldMailInLines(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	lines := filepath.Join(r.TeamDir("api"), "mailbox", "w.jsonl")
	const mail = "{\"from\":\"x\"}\n{\"from\":\"y\"}\n"
	write(t, lines, mail)
	_, archived := add(t, tm, team.Member{Name: "w"}, false)
	if filepath.Ext(archived) != ".jsonl" || read(t, archived) != mail || read(t, lines) != "" {
		t.Errorf("%s: %q left", archived, read(t, lines))
	}
	if _, err := os.Lstat(filepath.Join(r.InboxesDir("api"), "w.json")); !os.IsNotExist(err) {
		t.Errorf("one member has both layouts: %v", err)
	}
}

// TestOldMailAfterAKill: the copy of a killed process is neither lost nor taken for another
// mailbox's, whatever happened to the mailbox since.
func TestOldMailAfterAKill(t *testing.T) {
	t.Parallel()
	for what, mailbox := range map[string]string{"not emptied": oldMail, "emptied": "[]", "gone": "", "other mail since": strings.Replace(oldMail, "old", "new", 1)} {
		r, tm := newTeam(t)
		archive := filepath.Join(r.TeamDir("api"), "archive")
		write(t, filepath.Join(archive, ".w.json.pending"), oldMail)
		if mailbox != "" {
			write(t, filepath.Join(r.InboxesDir("api"), "w.json"), mailbox)
		}
		add(t, tm, team.Member{Name: "w"}, false)
		var found []string
		for _, file := range children(t, archive) {
			if strings.HasPrefix(file, "w-") {
				found = append(found, read(t, filepath.Join(archive, file)))
			} else if !strings.HasSuffix(file, ".flk") {
				t.Errorf("%s: %s", what, file)
			}
		}
		want := 1
		if what == "other mail since" {
			want = 2
		}
		if len(found) != want || !strings.Contains(strings.Join(found, ""), oldMail) || want == 2 && !strings.Contains(strings.Join(found, ""), mailbox) {
			t.Errorf("%s: %q", what, found)
		}
		if got := read(t, filepath.Join(r.InboxesDir("api"), "w.json")); got != "[]" {
			t.Errorf("%s: mailbox %q", what, got)
		}
	}
}

func TestOldMailBehindALink(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(r.TeamDir("api"), "archive")); err != nil {
		t.Skip(err)
	}
	inbox := filepath.Join(r.InboxesDir("api"), "w.json")
	write(t, inbox, oldMail)
	if _, _, err := tm.Add(t.Context(), team.Member{Name: "w"}, false); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Error(err)
	}
	if got := children(t, elsewhere); len(got) > 0 || read(t, inbox) != oldMail {
		t.Errorf("%q, mailbox %s", got, read(t, inbox))
	}
}
