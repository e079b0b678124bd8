package teamfile

import (
	"errors"
	"fmt"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
)

// yamlRule is how a script that is the lead answers.
type yamlRule struct {
	Answer string       `yaml:"answer"`
	Reason string       `yaml:"reason"`
	After  yamlDuration `yaml:"after"`
	Words  string       `yaml:"words"`
}

// yamlStep accepts short forms too.
type yamlStep struct {
	Say      *yamlSay      `yaml:"say"`
	Tool     *yamlTool     `yaml:"tool"`
	Plan     *yamlPlan     `yaml:"plan"`
	Network  *yamlNetwork  `yaml:"network"`
	Ask      *yamlAsk      `yaml:"ask_question"`
	Progress *yamlProgress `yaml:"progress"`
	Use      *yamlUse      `yaml:"use"`
	Fail     string        `yaml:"fail"`
	Wait     *yamlWait     `yaml:"wait"`
}

type yamlPlan struct {
	Revisions yamlTexts `yaml:"revisions"`
	Withdraw  *yamlWait `yaml:"withdraw"`
}

// yamlTexts is a list of texts, or one text alone.
type yamlTexts []string

type yamlWait struct {
	Until string `yaml:"until"`
	time  yamlDuration
}

type yamlUse struct {
	USD    float64   `yaml:"usd"`
	Tokens yamlCount `yaml:"tokens"`
}

type yamlSay struct {
	To      string `yaml:"to"`
	Text    string `yaml:"text"`
	Summary string `yaml:"summary"`
}

type yamlTool struct {
	Name   string         `yaml:"name"`
	Input  map[string]any `yaml:"input"`
	Reason string         `yaml:"reason"`
	Expect string         `yaml:"expect"`
}

type yamlNetwork struct {
	Host   string `yaml:"host"`
	Reason string `yaml:"reason"`
	Expect string `yaml:"expect"`
}

type yamlAsk struct {
	Questions []yamlAsked `yaml:"questions"`
	Expect    string      `yaml:"expect"`
}

type yamlAsked struct {
	Question string       `yaml:"question"`
	Header   string       `yaml:"header"`
	Options  []yamlOption `yaml:"options"`
	Multiple bool         `yaml:"multiple"`
	Closed   bool         `yaml:"closed"`
}

type yamlOption struct {
	Label       string `yaml:"label"`
	Description string `yaml:"description"`
}

type yamlProgress struct {
	Phase   string `yaml:"phase"`
	Message string `yaml:"message"`
}

func steps(key string, ys []yamlStep) (list []agent.Step, err error) {
	for i, st := range ys {
		step, err := st.step()
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", key, i, err)
		}
		list = append(list, step)
	}
	return list, nil
}

// short reads a text when the value is only a text, else the whole mapping.
func short(unmarshal func(any) error, text *string, whole any) error {
	if unmarshal(text) == nil {
		return nil
	}
	return unmarshal(whole)
}

// UnmarshalYAML reads {to, text, summary} or the text alone.
func (s *yamlSay) UnmarshalYAML(unmarshal func(any) error) error {
	type whole yamlSay
	return short(unmarshal, &s.Text, (*whole)(s))
}

// UnmarshalYAML reads {host, reason, expect} or the host alone.
func (n *yamlNetwork) UnmarshalYAML(unmarshal func(any) error) error {
	type whole yamlNetwork
	return short(unmarshal, &n.Host, (*whole)(n))
}

// UnmarshalYAML reads {questions, expect} or the text of one question alone.
func (a *yamlAsk) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if unmarshal(&text) == nil {
		a.Questions = []yamlAsked{{Question: text}}
		return nil
	}
	type whole yamlAsk
	return unmarshal((*whole)(a))
}

// UnmarshalYAML reads {question, header, options, multiple, closed} or the text alone.
func (a *yamlAsked) UnmarshalYAML(unmarshal func(any) error) error {
	type whole yamlAsked
	return short(unmarshal, &a.Question, (*whole)(a))
}

// UnmarshalYAML reads {label, description} or the label alone.
func (o *yamlOption) UnmarshalYAML(unmarshal func(any) error) error {
	type whole yamlOption
	return short(unmarshal, &o.Label, (*whole)(o))
}

// UnmarshalYAML reads {phase, message} or the message alone.
func (p *yamlProgress) UnmarshalYAML(unmarshal func(any) error) error {
	type whole yamlProgress
	return short(unmarshal, &p.Message, (*whole)(p))
}

// UnmarshalYAML reads {revisions, withdraw} or the revisions alone.
func (p *yamlPlan) UnmarshalYAML(unmarshal func(any) error) error {
	if unmarshal(&p.Revisions) == nil {
		return nil
	}
	type whole yamlPlan
	return unmarshal((*whole)(p))
}

// UnmarshalYAML reads a list of texts or one text alone.
func (l *yamlTexts) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if unmarshal(&text) == nil {
		*l = yamlTexts{text}
		return nil
	}
	return unmarshal((*[]string)(l))
}

// UnmarshalYAML reads {until} or a time alone.
func (w *yamlWait) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if unmarshal(&text) == nil {
		return unmarshal(&w.time)
	}
	type whole yamlWait
	return unmarshal((*whole)(w))
}

func (y yamlStep) step() (agent.Step, error) {
	s := agent.Step{Say: (*agent.SayStep)(y.Say), Network: (*agent.NetworkStep)(y.Network), Progress: (*agent.ProgressStep)(y.Progress)}
	if y.Tool != nil {
		in, err := jsonobj.Marshal(y.Tool.Input)
		if err != nil {
			return s, err
		}
		s.Tool = &agent.ToolStep{Name: y.Tool.Name, Input: in, Reason: y.Tool.Reason, Expect: y.Tool.Expect}
	}
	if y.Ask != nil {
		s.Ask = &agent.AskStep{Expect: y.Ask.Expect}
		for _, q := range y.Ask.Questions {
			one := agent.AskedPart{Question: q.Question, Header: q.Header, Multiple: q.Multiple, Closed: q.Closed}
			for _, o := range q.Options {
				one.Options = append(one.Options, agent.Option(o))
			}
			s.Ask.Questions = append(s.Ask.Questions, one)
		}
	}
	if y.Use != nil {
		s.Use = &agent.UseStep{USD: y.Use.USD, Tokens: int64(y.Use.Tokens)}
	}
	if y.Fail != "" {
		s.Fail = &agent.FailStep{Reason: y.Fail}
	}
	if y.Plan != nil {
		if y.Plan.Revisions == nil {
			return s, errors.New("plan wants revisions")
		}
		s.Plan = &agent.PlanStep{Revisions: y.Plan.Revisions, Withdraw: y.Plan.Withdraw.step()}
	}
	s.Wait = y.Wait.step()
	return s, nil
}

// step is nil without a wait.
func (w *yamlWait) step() *agent.WaitStep {
	if w == nil {
		return nil
	}
	return &agent.WaitStep{For: agent.Duration(w.time), Until: w.Until}
}
