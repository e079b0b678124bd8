package protocol_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"waggle/internal/test/testenv"
	"waggle/protocol"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestTranscripts decodes the texts in testdata/decode/*.txtar, one file a kind,
// and compares the JSON that "waggle protocol decode" shows for them.
func TestTranscripts(t *testing.T) {
	seen := make(map[string]bool)
	files, err := filepath.Glob("testdata/decode/*.txtar")
	testenv.Must(t, err)
	for _, file := range files {
		kind := strings.TrimSuffix(filepath.Base(file), ".txtar")
		seen[kind] = true
		t.Run(kind, func(t *testing.T) { checkTranscript(t, file) })
	}
	for _, kind := range append(allKinds(), protocol.KindInvalid) {
		if !seen[string(kind)] {
			t.Errorf("no transcript of %s", kind)
		}
	}
}

func checkTranscript(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	testenv.Must(t, err)
	want := make(map[string][]byte)
	for _, f := range archive.Files {
		want[f.Name] = f.Data
	}
	var out []txtar.File
	for _, f := range archive.Files {
		name, ext, _ := strings.Cut(f.Name, ".")
		if ext == "decoded" {
			continue
		}
		out = append(out, f)
		got := decodeInput(t, ext, f.Data)
		out = append(out, txtar.File{Name: name + ".decoded", Data: got})
		if diff := cmp.Diff(string(want[name+".decoded"]), string(got)); diff != "" && !*update {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if *update {
		archive.Files = out
		testenv.Must(t, os.WriteFile(file, txtar.Format(archive), 0o666))
	}
}

func decodeInput(t *testing.T, ext string, data []byte) []byte {
	t.Helper()
	data = bytes.TrimSuffix(data, []byte("\n"))
	e := protocol.Envelope{From: "w1", Text: string(data), Timestamp: envelopeTime}
	if ext == "entry" {
		var err error
		if e, err = protocol.ParseEnvelope(data); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := protocol.Decode(e).MarshalJSON()
	testenv.Must(t, err)
	var b bytes.Buffer
	testenv.Must(t, json.Indent(&b, raw, "", "  "))
	b.WriteByte('\n')
	return b.Bytes()
}
