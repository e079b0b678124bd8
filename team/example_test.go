package team_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"waggle/protocol"
	"waggle/team"
)

func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, root := context.Background(), team.Root{Path: dir}

	t, err := team.Create(ctx, root, team.Config{Name: "api"}, team.Options{})
	if err != nil {
		panic(err)
	}
	for range 2 {
		m, _, err := t.Add(ctx, team.Member{Name: "tester", Model: "haiku"}, true)
		if err != nil {
			panic(err)
		}
		fmt.Println(m.AgentID, m.Color)
	}
	if err := t.Remove(ctx, "tester-2", time.Time{}); err != nil {
		panic(err)
	}
	c, err := t.Load(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Present())

	_, err = team.Open(root, "apis", team.Options{})
	fmt.Println(errors.As(err, new(*team.NotFoundError)), err)
	// Output:
	// tester@api blue
	// tester-2@api green
	// [team-lead tester]
	// true no team "apis"; near: api
}

func ExampleParseConfig() {
	c, problems, err := team.ParseConfig([]byte(`{"name":"api","vendor":{"level":1.0},"members":[{"name":"tester","agentId":"tester@api"},{"name":"../x"}]}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(problems)
	c.Members[0].Color = "blue"
	fmt.Println(string(c.AppendJSON(nil)))
	// Output:
	// [members[1]: name: member "../x": may hold only the letters a to z, digits, - and _]
	// {
	//   "name": "api",
	//   "vendor": {
	//     "level": 1.0
	//   },
	//   "members": [
	//     {
	//       "name": "tester",
	//       "color": "blue",
	//       "agentId": "tester@api"
	//     },
	//     {
	//       "name": "../x"
	//     }
	//   ]
	// }
}

func ExampleConfig_Near() {
	c := team.Config{Members: []team.Member{{Name: protocol.Lead}, {Name: "tester"}, {Name: "reviewer"}}}
	fmt.Println(c.Near("lead"), c.Near("@Tester"), c.Near("reveiwer"), c.Near("nobody"))
	// Output: [team-lead] [tester] [reviewer] []
}

func ExampleValidate() {
	for _, p := range team.Validate([]byte(`{"name":"My Team","members":[],"createdAt":"2026-02-16T10:30:00.000Z"}`)) {
		fmt.Println(p)
	}
	// Output:
	// /name: "My Team" is not kebab case of 3 to 64 characters
	// /description: is missing
}
