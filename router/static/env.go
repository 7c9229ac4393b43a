package static

import (
	"errors"
	"fmt"
	"strings"
)

// lookup finds an environment variable; the second result says whether it is set.
type lookup func(name string) (string, bool)

// expand replaces ${NAME} by the variable's value and ${NAME:-default} by the
// default when the variable is unset or empty. $${ stands for a literal ${; any
// other $ stands for itself. The value is not looked at again. Errors name the
// variable, never a value.
func expand(s string, env lookup) (string, error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1])
			b.WriteString("${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		value, rest, err := variable(s[i+2:], env)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		s = rest
	}
}

// variable reads what follows a ${ up to its closing brace.
func variable(s string, env lookup) (value, rest string, err error) {
	body, rest, closed := strings.Cut(s, "}")
	if !closed {
		return "", "", errors.New("${ is not closed: write ${NAME} or ${NAME:-default}, and $${ for a literal ${")
	}
	name, fallback, hasFallback := strings.Cut(body, ":-")
	if !variableName(name) {
		return "", "", errors.New("what stands inside ${…} here is not the name of an environment variable " +
			"(letters, digits and _): expressions belong in with and result, and $${ is a literal ${")
	}
	if strings.Contains(fallback, "${") {
		return "", "", fmt.Errorf("the default of ${%s} holds another ${…}: a default is taken as it stands", name)
	}
	value, set := env(name)
	switch {
	case hasFallback && value == "":
		return fallback, rest, nil
	case !set:
		return "", "", fmt.Errorf("environment variable %s is not set: set it, or give a default as ${%s:-…}", name, name)
	}
	return value, rest, nil
}

func variableName(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
