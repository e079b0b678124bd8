package layout_test

import (
	"fmt"
	"os"
	"path/filepath"

	"waggle/layout"
)

func ExampleDirs_Of() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	team := layout.Dirs{Team: dir}
	for name, as := range map[string]layout.Layout{"team-lead": layout.Array, "ann": layout.JSONL} {
		if err := os.MkdirAll(team.Dir(as), 0o700); err != nil {
			panic(err)
		}
		if err := os.WriteFile(team.Path(as, name), nil, 0o600); err != nil {
			panic(err)
		}
	}
	// bob has no mailbox yet: it will be made as the lead's is.
	for _, name := range []string{"team-lead", "ann", "bob"} {
		found, err := team.Of(name)
		path, _ := filepath.Rel(dir, team.Path(found.Layout, name))
		fmt.Println(name, found.Layout, found.Present, filepath.ToSlash(path), err)
	}
	// Output:
	// team-lead array true inboxes/team-lead.json <nil>
	// ann jsonl true mailbox/ann.jsonl <nil>
	// bob array false inboxes/bob.json <nil>
}
