package teamfile_test

import (
	"strings"
	"testing"

	"waggle/operator/teamfile"
	"waggle/record"
)

// TestBrake: the user's own settings say at how many dollars a team without a budget asks, or that none
// does. Nothing said is the usual amount.
func TestBrake(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]record.Limit{
		"":                   teamfile.UsualBrake,
		"grace: 5s":          teamfile.UsualBrake,
		"brake: {usd: 3.5}":  {CostMicros: 3_500_000},
		"brake: off":         {},
		"brake: {usd: 1e9}":  {CostMicros: 1e15},
		"brake:\n  usd: 100": {CostMicros: 100e6},
	} {
		c, err := teamfile.ParseConfig("/home/me/config.yaml", []byte(text))
		if err != nil || c.Brake != want {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	for text, say := range map[string]string{
		"brake: {usd: 0}":              "config.yaml:1: brake.usd: want dollars above 0",
		"brake: {}":                    "config.yaml:1: brake: want {usd: N}, or off",
		"brake: {usd: 3, tokens: 100}": "tokens",
		"brake: 20":                    "config.yaml:1",
		"brake: on":                    "config.yaml:1",
	} {
		if _, err := teamfile.ParseConfig("/home/me/config.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
