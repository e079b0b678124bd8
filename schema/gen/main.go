// Gen writes the schema files of package schema into the current directory. It
// is run by go generate.
package main

import (
	"fmt"
	"os"

	"waggle/schema"
)

func main() {
	files, err := schema.Render()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name, data := range files {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
