package expression

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// TestPlainQueries evaluates queries that provider-kubernetes accepts, with cel-go without extensions as it does and
// here: they compile, and have the same answer. It takes all numbers of a resource for doubles, which comparisons do
// not tell, but sums and quotients do: these convert first.
func TestPlainQueries(t *testing.T) {
	plain, err := cel.NewEnv(cel.Variable("object", cel.AnyType))
	if err != nil {
		t.Fatal(err)
	}
	object := func(number func(int) any) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "web"}, "generation": number(2)},
			"spec":     map[string]any{"replicas": number(3), "ports": []any{number(80), number(443)}, "ratio": 0.5},
			"status": map[string]any{
				"isReady": true, "readyReplicas": number(2), "observedGeneration": number(2), "phase": "Bound", "age": "90s",
				"startedAt": "2026-01-02T03:04:05Z", "conditions": []any{
					map[string]any{"type": "condition1", "status": "True"}, map[string]any{"type": "Available", "status": "True"},
				},
			},
		}
	}
	there := object(func(n int) any { return float64(n) })
	here := object(func(n int) any { return int64(n) })
	environment := NewEnvironment("CEL query", "object")
	for _, query := range []string{
		`object.status.conditions.all(x, x.status == "True")`,
		`object.status.isReady == true`,
		`object.status.absent == true`,
		`object.status.conditions.exists(c, c.type == "condition1" && c.status == "True" )`,
		`object.status.conditions.exists_one(c, c.type == "Available")`,
		`object.status.conditions.filter(c, c.status == "True").map(c, c.type) == ["condition1", "Available"]`,
		`object.status.conditions.map(c, c.type == "Available", c.status)[0] == "True"`,
		`has(object.status.phase) && object.status.phase in ["Bound", "Released"]`,
		`!has(object.status.absent)`,
		`"app" in object.metadata.labels && object.metadata.labels["app"] == object.metadata.name`,
		`object.metadata.labels.all(k, k.startsWith("a"))`,
		`object.metadata.labels == {"app": "web"}`,
		`object.metadata.generation == object.status.observedGeneration`,
		`object.spec.replicas >= 2 && object.spec.replicas < 3.5 && object.spec.replicas != 4u`,
		`object.spec.replicas in [1, 2, 3] && 443 in object.spec.ports && size(object.spec.ports) == 2`,
		`double(object.status.readyReplicas) / double(object.spec.replicas) > object.spec.ratio`,
		`int(object.status.readyReplicas) + 1 == int(object.spec.replicas)`,
		`string(object.spec.replicas) == "3" && object.spec.ports == [80, 443]`,
		`[1, 'a'].size() == 2 && {'a': 1, 'b': 'c'}.size() == 2`,
		`[1, 'a', null, true, 2.0][1] == 'a'`,
		`object.status.isReady ? true : duration('nonsense') == duration('1s')`,
		`object.status.isReady ? true : 'a'.matches('(')`,
		`object.status.isReady || object.status.phase.matches('[')`,
		`object.status.phase.matches('^B[a-z]+$') && object.status.phase.contains('oun')`,
		`duration(object.status.age) > duration('1m') && duration(object.status.age).getSeconds() == 90`,
		`timestamp(object.status.startedAt) < timestamp('2027-01-01T00:00:00Z')`,
		`timestamp(object.status.startedAt).getFullYear('Europe/Berlin') == 2026`,
		`type(object.status.phase) == string && type(object.status.isReady) == bool && type(null) == null_type`,
		`bytes('a') == b'\x61' && b'a' + b'b' == b'ab' && string(b'ab').size() == 2`,
		`dyn(object.status.phase) != dyn(1) && uint('1') == 1u && bool('true')`,
		`object.status.phase + "!" > "Bound" && 7 % 4 == 3 && -1 < 0 && 1.5 * 2.0 == 3.0`,
		`object.status.phase`,
		`object.status.conditions[7].status == "True"`,
		`object.status.phase > 1`,
		`1 / 0 == 1`,
	} {
		checked, issues := plain.Compile(query)
		if issues.Err() != nil {
			t.Fatalf("%s: provider-kubernetes does not accept it: %v", query, issues.Err())
		}
		p, err := plain.Program(checked)
		if err != nil {
			t.Fatalf("%s: provider-kubernetes does not accept it: %v", query, err)
		}
		want, _, failed := p.Eval(map[string]any{"object": there})
		program, err := environment.Compile(query, cel.DynType)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		got, err := program.Eval(map[string]any{"object": here})
		if (failed == nil) != (err == nil) || err == nil && types.Equal(got, want) != types.True {
			t.Errorf("%s: there %v, %v, here %v, %v", query, want, failed, got, err)
		}
	}
}
