package teamfile

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/goccy/go-yaml"

	"waggle/operator"
	"waggle/policy"
	"waggle/record"
)

// Config is the user's own file (FORMAT, "Terms"). Only the operator's command line reads it; a
// team file cannot set any of it.
type Config struct {
	Ceiling record.Ceiling
	Grace   time.Duration // for members to end by themselves; 0: not set
	// Brake is what a team for which nobody set a budget asks at; the zero value: it does not ask.
	Brake record.Limit
	// Keys are the keys of commands of the full screen, by the name of the command.
	Keys map[string][]string
}

// yamlConfig is the schema of that file. Unknown keys are an error with their line.
type yamlConfig struct {
	Ceiling yamlPolicy          `yaml:"ceiling"`
	Grace   yamlDuration        `yaml:"grace"`
	Brake   *yamlBrake          `yaml:"brake"`
	Keys    map[string][]string `yaml:"keys"`
}

// ParseConfig checks the content of a user's file, which is at path. An empty file sets nothing.
// Errors name the file and the line, and are of kind Usage.
func ParseConfig(path string, data []byte) (*Config, error) {
	c := &Config{Brake: UsualBrake, Ceiling: record.Ceiling{File: path, SHA256: record.HashText(string(data))}}
	tree, err := parseYAML("config", path, data, reflect.TypeFor[yamlConfig](), true)
	if err != nil {
		return nil, err
	}
	if len(tree.Docs) > 1 {
		return nil, usage("config", path, errors.New("want one YAML document"))
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return c, nil
	}
	var y yamlConfig
	if err := yaml.NodeToValue(tree.Docs[0].Body, &y, yaml.Strict()); err != nil {
		return nil, usage("config", path, err)
	}
	check := &checker{path: path, tree: tree}
	if c.Grace = time.Duration(y.Grace); c.Grace < 0 {
		check.bad("$.grace", "want a time that is not negative")
	}
	if y.Brake != nil {
		c.Brake = check.brake("$.brake", *y.Brake)
	}
	c.Keys = y.Keys
	check.ceiling(&c.Ceiling, y.Ceiling)
	if len(check.errs) > 0 {
		return nil, &operator.Error{Kind: operator.Usage, Op: "config", Err: errors.Join(check.errs...)}
	}
	return c, nil
}

// ceiling reads the ceiling, in which no allow is no limit, and [] allows nothing. sandboxed says whether policy's
// sandboxed: allow holds where allow limits rules.
func (c *checker) ceiling(to *record.Ceiling, y yamlPolicy) {
	to.Mode = c.mode("$.ceiling", y.Mode, "")
	if y.Allow != nil {
		to.Allow = c.rules("$.ceiling.allow", y.Allow)
	}
	if len(y.Deny) > 0 {
		to.Deny = c.rules("$.ceiling.deny", y.Deny)
	}
	to.Sandboxed = c.sandboxed("$.ceiling", y.Sandboxed)
}

// Under refuses a team file that asks for more than the user's ceiling allows: the user has not
// consented to those lines (trust §7). The default mode of a file that names none is narrowed
// instead. c may be nil.
func (f *File) Under(c *record.Ceiling) error {
	if !c.Bounds() {
		return nil
	}
	tree, err := parseYAML("team file", f.Path, f.Data, reflect.TypeFor[yamlFile](), true)
	if err != nil {
		return err
	}
	check := &checker{path: f.Path, tree: tree}
	check.under("$.policy", f.Policy, c)
	if f.LeadPolicy != nil {
		check.under("$.lead_policy", *f.LeadPolicy, c)
	}
	for i, g := range f.Network {
		rule := policy.Rule{Tool: "WebFetch", Pattern: "domain:" + g.Host}
		if len(c.Beyond(policy.Policy{Mode: policy.ModeLockedDown, Allow: []policy.Rule{rule}})) > 0 {
			check.bad(fmt.Sprintf("$.sandbox.network[%d]", i), "%s is beyond the ceiling in %s, which does not cover %s", g.Host, c.File, rule)
		}
	}
	if len(check.errs) == 0 {
		return nil
	}
	return &operator.Error{Kind: operator.Refused, Op: "run", Err: errors.Join(check.errs...),
		Advice: "take it out of the team file; the ceiling is yours and stands in " + c.File}
}

// under checks a policy of the file line by line.
func (c *checker) under(at string, p policy.Policy, top *record.Ceiling) {
	if p.Mode != policy.ModeDefault && top.Meet(p.Mode) != p.Mode {
		c.bad(at+".mode", "mode %s is beyond the ceiling in %s, whose widest is %s", p.Mode, top.File, top.Widest())
	}
	if over := top.Beyond(policy.Policy{Mode: policy.ModeLockedDown, Sandboxed: p.Sandboxed}); len(over) > 0 {
		c.bad(at+".sandboxed", "it is beyond the ceiling in %s", top.File)
	}
	for i, r := range p.Allow {
		if over := top.Beyond(policy.Policy{Mode: policy.ModeLockedDown, Allow: []policy.Rule{r}}); len(over) > 0 {
			c.bad(fmt.Sprintf("%s.allow[%d]", at, i), "%s is beyond the ceiling in %s", r, top.File)
		}
	}
}
