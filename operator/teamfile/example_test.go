package teamfile_test

import (
	"fmt"

	"waggle/operator"
	"waggle/operator/teamfile"
)

// ParseFile checks a whole team file, or refuses it with the place of the error.
func Example() {
	const file = `team: api
policy: {allow: ["Bash(go test:*)"]}
members:
  - {name: builder, agent: exec}
tasks:
  - {subject: Run the tests, owner: builder, instructions: go test ./...}
`
	f, err := teamfile.ParseFile("/work/waggle.yaml", []byte(file))
	if err != nil {
		panic(err)
	}
	fmt.Println(f.Team, f.Members[0].Name, f.Tasks[0].Subject)
	_, err = teamfile.ParseFile("/work/waggle.yaml", []byte("team: api\nmembers: [{name: builder, agent: abacus}]\n"))
	fmt.Println(operator.KindOf(err) == operator.Usage)
	// Output:
	// api builder Run the tests
	// true
}
