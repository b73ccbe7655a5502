// Package gitops asks the health checks of examples/gitops about resources, as Argo CD and Flux would. It is for
// _test.go files only.
package gitops

import (
	"os"
	"testing"

	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// read reads the resource of a file.
func read(tb testing.TB, path string, into any) {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(content, into)
	}
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
}

// Argo returns the health of a resource by the script of a file, as Argo CD does: with the libraries that it gives to
// scripts.
func Argo(tb testing.TB, path string, u *unstructured.Unstructured) (status, message string) {
	tb.Helper()
	config := &struct {
		Data map[string]string `json:"data"`
	}{}
	read(tb, path, config)
	script, ok := config.Data["resource.customizations.health."+u.GroupVersionKind().Group+"_"+u.GetKind()]
	if !ok {
		tb.Fatalf("%s has no script for %s", path, u.GroupVersionKind())
	}
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	l.SetGlobal("obj", luaValue(l, u.Object))
	if err := l.DoString(script); err != nil {
		tb.Fatalf("the script fails for %s %q: %v", u.GetKind(), u.GetName(), err)
	}
	health, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		tb.Fatalf("the script returns no table, but %s", l.Get(-1))
	}
	return lua.LVAsString(health.RawGetString("status")), lua.LVAsString(health.RawGetString("message"))
}

// luaValue returns a value of JSON as Lua has it.
func luaValue(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		t := l.NewTable()
		for k, e := range v {
			t.RawSetString(k, luaValue(l, e))
		}
		return t
	case []any:
		t := l.NewTable()
		for _, e := range v {
			t.Append(luaValue(l, e))
		}
		return t
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// Flux returns the status of a resource by the expressions of a file, as Flux does: "Failed", "Current" or
// "InProgress". It goes on polling where an expression has no answer, so that is InProgress, too.
func Flux(tb testing.TB, path string, u *unstructured.Unstructured) string {
	tb.Helper()
	kustomization := &struct {
		Spec struct {
			HealthCheckExprs []struct {
				APIVersion string `json:"apiVersion"`
				Kind       string `json:"kind"`
				Failed     string `json:"failed"`
				Current    string `json:"current"`
			} `json:"healthCheckExprs"`
		} `json:"spec"`
	}{}
	read(tb, path, kustomization)
	for _, e := range kustomization.Spec.HealthCheckExprs {
		if e.APIVersion != u.GetAPIVersion() || e.Kind != u.GetKind() {
			continue
		}
		switch {
		case isTrue(tb, e.Failed, u):
			return "Failed"
		case isTrue(tb, e.Current, u):
			return "Current"
		}
		return "InProgress"
	}
	tb.Fatalf("%s has no expressions for %s", path, u.GroupVersionKind())
	return ""
}

// isTrue evaluates an expression with the fields of a resource as variables, which are not declared.
func isTrue(tb testing.TB, expression string, u *unstructured.Unstructured) bool {
	tb.Helper()
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes())
	if err != nil {
		tb.Fatal(err)
	}
	ast, issues := env.Parse(expression)
	if issues.Err() != nil {
		tb.Fatalf("%s: %v", expression, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		tb.Fatal(err)
	}
	v, _, err := program.Eval(u.Object)
	return err == nil && v.Value() == true
}
