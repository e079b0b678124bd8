package app

import "testing"

// TestArity: how many arguments a command takes is what its use line says.
func TestArity(t *testing.T) {
	t.Parallel()
	for use, want := range map[string][2]int{
		"bench":                               {0, 0},
		"diff NAME":                           {1, 1},
		"status [TEAM]":                       {0, 1},
		"query [NAME | TEAM]":                 {0, 1},
		"resume [TEAM|NAME]":                  {0, 1},
		"send TO [TEXT | -]":                  {1, 2},
		"encode [KIND] [FILE | -]":            {0, 2},
		"artifacts [MEMBER [PATH]]":           {0, 2},
		"compare NAME NAME...":                {2, Many},
		"unblock ID [BLOCKER...]":             {1, Many},
		"answer ID CHOICE|TEXT…":              {2, Many},
		"explain ID | TOOLCALL":               {1, 1},
		"diff A B | diff MEMBER REV REV":      {2, 3},
		"approve PLAN --rev N":                {1, 1},
		"claim [ID] --as NAME":                {0, 1},
		"stop NAME | --all":                   {0, 1},
		"adopt --pid N | --session UUID NAME": {0, 1},
		"mcp [--team TEAM --as NAME]":         {0, 0},
		"export TEAM [--format markdown|json|state] [-o FILE]": {1, 1},
		"backup TEAM -o FILE.tar[.gz]":                         {1, 1},
		"token NAME [-- COMMAND...]":                           {1, Many},
		"run [NAME] -- COMMAND [ARG]...":                       {1, Many},
		"wait [NAME]... --until needs-you|done|failed|ready":   {0, Many},
		"explain [NAME] -- COMMAND [ARG]... | 'COMMAND'":       {1, Many},
	} {
		if least, most := arity(use); least != want[0] || most != want[1] {
			t.Errorf("%s takes %d to %d arguments, want %v", use, least, most, want)
		}
	}
}
