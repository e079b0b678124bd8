package record_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"waggle/record"
)

// secondCode reads the rule of handles once more, over the bits as text.
func secondCode(k record.Key, d record.Digest) string {
	var in []byte
	for _, field := range []string{string(k.Instance), string(k.Kind), string(k.ID), string(d)} {
		in = binary.BigEndian.AppendUint64(in, uint64(len(field)))
		in = append(in, field...)
	}
	var bits strings.Builder
	for _, b := range sha256.Sum256(in) {
		fmt.Fprintf(&bits, "%08b", b)
	}
	code := ""
	for text := bits.String(); len(text) >= 5; text = text[5:] {
		if v, _ := strconv.ParseUint(text[:5], 2, 8); v != 31 {
			code += string("23456789ABCDEFGHJKMNPQRSTUVWXYZ"[v])
		}
	}
	return code
}

// TestHandles: a handle's code is what a second reading of the rule gives; every field of the key
// and the digest count, each as a whole.
func TestHandles(t *testing.T) {
	k, d := record.Key{Instance: "ada-1", Kind: tool, ID: "perm-1"}, record.Digest(strings.Repeat("ab", 32))
	code := record.HandleCode(k, d)
	if len(code) < 40 || strings.Trim(code, "23456789ABCDEFGHJKMNPQRSTUVWXYZ") != "" {
		t.Errorf("the code %q", code)
	}
	if got := secondCode(k, d); got != code {
		t.Errorf("%s, and read in another way %s", code, got)
	}
	seen := map[string]bool{code: true}
	for _, o := range []record.Key{
		{Instance: "ada-2", Kind: tool, ID: "perm-1"}, {Instance: "ada-1", Kind: plan, ID: "perm-1"}, {Instance: "ada-1", Kind: tool, ID: "perm-2"},
		{Instance: "ada-1p", Kind: tool[1:], ID: "perm-1"}, {Instance: "ada-1", Kind: tool + "p", ID: "erm-1"},
	} {
		c := record.HandleCode(o, d)
		if seen[c] {
			t.Errorf("%v has the code of another", o)
		}
		seen[c] = true
	}
	if c := record.HandleCode(k, d[1:]+"0"); seen[c] {
		t.Error("another digest has the same code")
	}
	for in, want := range map[string]string{" ab2\n": "AB2", "AB2": "AB2", "": ""} {
		if got := record.CleanHandle(in); got != want {
			t.Errorf("%q is %q", in, got)
		}
	}
}
