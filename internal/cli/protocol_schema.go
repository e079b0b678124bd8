package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"waggle/operator"
	"waggle/schema"
)

func protocolSchemaCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:               "schema [KIND | envelope]",
		Short:             "Print JSON Schema (2020-12); without KIND all, in one document",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeKinds,
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := schema.Render()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				b, ok := files[args[0]+".schema.json"]
				if !ok {
					return &operator.Error{Code: operator.CodeNotFound, Op: "schema", Msg: fmt.Sprintf("there is no kind %q", args[0]), Hint: "waggle protocol kinds lists them; envelope is one too"}
				}
				_, err := a.Out.Write(b)
				return err
			}
			all := map[string]json.RawMessage{}
			for n, b := range files {
				all[strings.TrimSuffix(n, ".schema.json")] = b
			}
			return a.document(all)
		},
	}
}
