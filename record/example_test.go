package record_test

import (
	"fmt"

	"waggle/protocol"
	"waggle/record"
)

// An answer names the digest of its request. A request that differs in a byte has another digest.
func ExampleDigestOf() {
	key := record.Key{Instance: "ada-1", Kind: protocol.KindPermissionRequest, ID: "perm-1"}
	asked := record.Ask{N: record.SumN, Tool: "Bash", Input: `{"command":"make"}`, Cwd: "/work"}
	other := asked.With(`{"command":"make install"}`)
	digest := record.DigestOf("team-uid", key, asked)
	fmt.Println(digest == record.DigestOf("team-uid", key, asked.With(`{"command":"make"}`)))
	fmt.Println(digest == record.DigestOf("team-uid", key, other))
	// Output:
	// true
	// false
}
