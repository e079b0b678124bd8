package jsonfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/fs/atomicfile"
	_ "waggle/internal/fs/atomicfile/ordertest"
	"waggle/internal/json/jsonfile"
	"waggle/internal/test/testenv"
)

type kept struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// TestForms: each form has exactly its bytes, and reads back as what was written.
func TestForms(t *testing.T) {
	path, v := filepath.Join(t.TempDir(), "a.json"), kept{"<b>", 7}
	for want, write := range map[string]func(string, any, atomicfile.Options) error{
		`{"name":"<b>","n":7}`:                     jsonfile.Write,
		`{"name":"<b>","n":7}` + "\n":              jsonfile.WriteLine,
		"{\n  \"name\": \"<b>\",\n  \"n\": 7\n}\n": jsonfile.WriteIndent,
	} {
		testenv.Must(t, write(path, v, atomicfile.Options{}))
		if got := testenv.Value(os.ReadFile(path))(t); string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
		for _, read := range []func(string, any, int64) error{jsonfile.Read, jsonfile.ReadRecord} {
			var back kept
			if err := read(path, &back, int64(len(want))); err != nil || back != v {
				t.Errorf("%q reads as %+v, %v", want, back, err)
			}
		}
		if err := write(path, func() {}, atomicfile.Options{}); err == nil {
			t.Error("a function was written")
		}
	}
}

// TestDamaged: what does not decode is a RecordError with the path; what is no plain file or too large is one for
// ReadRecord alone; a missing file is none.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	bad, large, folder := filepath.Join(dir, "bad"), filepath.Join(dir, "large"), filepath.Join(dir, "folder")
	testenv.Must(t, errors.Join(os.WriteFile(bad, []byte(`{"n":"x"}`), 0o600), os.WriteFile(large, make([]byte, 11), 0o600), os.Mkdir(folder, 0o700)))
	for path, cause := range map[string]error{bad: nil, large: atomicfile.ErrTooLarge, folder: atomicfile.ErrNotRegular} {
		rerr, err := jsonfile.ReadRecord(path, new(kept), 10), jsonfile.Read(path, new(kept), 10)
		rec, ok := errors.AsType[*atomicfile.RecordError](rerr)
		if !ok || rec.Path != path || cause != nil && !errors.Is(rerr, cause) {
			t.Errorf("%s as a record: %v", path, rerr)
		}
		if _, ok := errors.AsType[*atomicfile.RecordError](err); ok != (path == bad) || cause != nil && !errors.Is(err, cause) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := jsonfile.ReadRecord(filepath.Join(dir, "none"), new(kept), 10); !errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*atomicfile.RecordError)) {
		t.Error(err)
	}
}
