package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/protocol"
	"waggle/schema"
)

// noKind returns the error for an unknown kind; for a superseded type it names the kind that
// replaces it.
func noKind(name string) error {
	hint := "waggle protocol kinds lists them; envelope is one too"
	var as []string
	for _, k := range protocol.Kinds() {
		if slices.Contains(k.Aliases, name) {
			as = append(as, string(k.Kind))
		}
	}
	if len(as) > 0 {
		hint = "it is a superseded type that is read as " + strings.Join(as, " or ")
	}
	return &operator.Error{Kind: operator.NotFound, Op: "schema", Msg: fmt.Sprintf("there is no kind %q", name), Advice: hint}
}

func protocolSchemaCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "schema [KIND | envelope]",
		Short:             "Print JSON Schema (2020-12); without KIND all, in one document",
		ValidArgsFunction: completeKinds,
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := schema.Render()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				b, ok := files[args[0]+".schema.json"]
				if !ok {
					return noKind(args[0])
				}
				return a.Put(string(b))
			}
			all := map[string]json.RawMessage{}
			for n, b := range files {
				all[strings.TrimSuffix(n, ".schema.json")] = b
			}
			return a.Document(all)
		},
	}
}
