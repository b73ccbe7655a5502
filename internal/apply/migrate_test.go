package apply

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// object returns the resource of a JSON text, nil if it is empty.
func object(t *testing.T, content string) *unstructured.Unstructured {
	t.Helper()
	if content == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(content), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

const update, applied = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply

// entry returns what a manager owns, given as JSON.
func entry(name string, op metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: name, Operation: op, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// fieldsByManager returns the fields of each manager and operation as JSON.
func fieldsByManager(t *testing.T, entries []metav1.ManagedFieldsEntry) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, e := range entries {
		s, err := fieldsOf(e)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		got[e.Manager+" "+string(e.Operation)] = string(b)
	}
	return got
}

func TestMigrated(t *testing.T) {
	const (
		ours, kubectl = manager + " Apply", ManagerOfKubectl + " Update"
		a, b, both    = `{"f:data":{"f:a":{}}}`, `{"f:data":{"f:b":{}}}`, `{"f:data":{"f:a":{},"f:b":{}}}`
		annotation    = `"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}`
		finalizers    = `"f:finalizers":{".":{},"v:\"example.org/kept\"":{}}`
		bookkeeping   = `{"f:metadata":{"f:annotations":{".":{},"f:crossplane.io/external-name":{}},` + finalizers + `}}`
		named         = `{"f:metadata":{"f:annotations":{"f:crossplane.io/external-name":{}}}}`
		port80        = `"k:{\"port\":80}":{".":{},"f:name":{},"f:port":{}}`
		port81        = `"k:{\"port\":81}":{".":{},"f:port":{}}`
		manifest      = `"metadata":{"name":"x"},"data":{"a":"1"}`
	)
	type fields = map[string]string // by manager and operation
	for name, tc := range map[string]struct {
		reason   string
		is       fields
		manifest string
		owned    bool   // the resource is to be the manager's
		want     fields // nil if nothing is to change
	}{
		"Updated": {
			"Fields a legacy manager has updated become applied ones, beside those of others.",
			fields{"legacy Update": a, "other Update": b},
			manifest, false,
			fields{ours: a, "other Update": b},
		},
		"AppliedToo": {
			"What was applied already is kept.", fields{ours: b, "legacy Update": a}, manifest, false, fields{ours: both},
		},
		"Unsigned": {
			"A manager with a common name counts only if it has left the annotation of a client-side apply.",
			fields{"common Update": a},
			manifest, false, nil,
		},
		"Signed": {
			"With the annotation it does.",
			fields{"common Update": `{"f:data":{"f:a":{}},"f:metadata":{` + annotation + `}}`},
			manifest, false,
			fields{ours: `{"f:data":{"f:a":{}},"f:metadata":{` + annotation + `}}`},
		},
		"AnnotationOfKubectl": {
			"The annotation stays with kubectl if kubectl has written it.",
			fields{"legacy Update": a, kubectl: `{"f:metadata":{` + annotation + `}}`},
			manifest, false,
			fields{ours: a, kubectl: `{"f:metadata":{` + annotation + `}}`},
		},
		"Bookkeeping": {
			"Finalizers, owners and annotations of Crossplane, which no manifest gave, are not taken from whom they serve.",
			fields{"legacy Update": bookkeeping},
			manifest, false, nil,
		},
		"BookkeepingAmongOthers": {
			"They stay where they are when the other fields of the entry move.",
			fields{"legacy Update": `{"f:data":{"f:a":{}},"f:metadata":{` + finalizers + `}}`},
			manifest, false,
			fields{ours: a, "legacy Update": `{"f:metadata":{` + finalizers + `}}`},
		},
		"BookkeepingGiven": {
			"What the manifest gives moves, whatever it is.",
			fields{"legacy Update": named},
			`"metadata":{"annotations":{"crossplane.io/external-name":"x"}}`, false,
			fields{ours: named},
		},
		"Applied": {
			"What a manager of that name has applied is its own.", fields{"legacy Apply": a}, manifest, false, nil,
		},
		"Lost": {
			"Of what no manager is known of only what the manifest gives is ours.",
			fields{ours: a, managerOfLost + " Update": `{"f:data":{".":{},"f:a":{},"f:b":{}}}`},
			manifest, true,
			fields{ours: `{"f:data":{".":{},"f:a":{}}}`, managerOfLost + " Update": b},
		},
		"KubectlOfOthers": {
			"A resource of others keeps what they have written when a manager withdraws.",
			fields{kubectl: a},
			manifest, false,
			nil,
		},
		"KubectlServer": {
			"So is what kubectl has created, or applied on the server, and what other programs apply is theirs.",
			fields{"kubectl Apply": both, "kubectl-create Update": a, "flux Apply": a, "kubectl-edit Update": a},
			manifest, true,
			fields{ours: a, "kubectl Apply": b, "flux Apply": a, "kubectl-edit Update": a},
		},
		"Left": {
			"What one of ours has left is as what kubectl has applied, and what one applies is its own.",
			fields{"ours/left Update": both, "ours/there Apply": a},
			manifest, true,
			fields{ours: a, "ours/left Update": b, "ours/there Apply": a},
		},
		"LeftToOthers": {
			"A resource of others keeps what one of ours has left.", fields{"ours/left Update": a}, manifest, false, nil,
		},
		"Former": {
			"All goes from former managers to the one that has the resource now.",
			fields{"former/1 Apply": both, "former/2 Update": a},
			manifest, true,
			fields{ours: both},
		},
		"Kubectl": {
			"So it is with what kubectl apply has written, also of items of a list.",
			fields{kubectl: `{"f:metadata":{` + annotation + `},"f:ports":{".":{},` + port80 + `,` + port81 + `}}`},
			`"ports":[{"port":80,"name":"http"}]`, true,
			fields{
				ours:    `{"f:ports":{".":{},` + port80 + `}}`,
				kubectl: `{"f:metadata":{` + annotation + `},"f:ports":{` + port81 + `}}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := Migration{
				Live: object(t, `{}`), Manifest: object(t, `{"apiVersion":"v1",`+tc.manifest+`}`),
				Manager: manager, Owned: tc.owned, Legacy: []string{"legacy"}, Signed: []string{"common"},
				Left: []string{"ours/"}, Former: "former/",
			}
			var entries []metav1.ManagedFieldsEntry
			for _, by := range slices.Sorted(maps.Keys(tc.is)) {
				name, operation, _ := strings.Cut(by, " ")
				entries = append(entries, entry(name, metav1.ManagedFieldsOperationType(operation), tc.is[by]))
			}
			m.Live.SetManagedFields(entries)
			if needed, err := m.Needed(); err != nil || needed != (tc.want != nil) {
				t.Errorf("%s\nNeeded: want %t, got %t and error %v", tc.reason, tc.want != nil, needed, err)
			}
			got, _, err := m.migrated()
			if err != nil {
				t.Fatal(err)
			}
			want := tc.want
			if want == nil {
				want = tc.is
			}
			if diff := cmp.Diff(want, fieldsByManager(t, got)); diff != "" {
				t.Errorf("%s\nmanaged fields: -want, +got:\n%s", tc.reason, diff)
			}
			m.Live.SetManagedFields(got)
			if again, err := m.Needed(); err != nil || again {
				t.Errorf("%s\nNeeded after the migration: want false, got %t and error %v", tc.reason, again, err)
			}
		})
	}
}

// TestDefaultsInTheWay shows which fields of nobody become those of the manager if a server has refused its manifest,
// so that the next apply removes them.
func TestDefaultsInTheWay(t *testing.T) {
	const (
		field    = "spec.strategy.rollingUpdate"
		manifest = `{"spec":{"strategy":{"type":"Recreate"}}}`
		live     = `{"data":{"a":"1"},"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}}`
		moved    = `{"f:spec":{"f:strategy":{"f:rollingUpdate":{}}}}`
		theirs   = `{"f:spec":{"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}}}`
	)
	for name, tc := range map[string]struct {
		reason string
		cause  metav1.StatusCause
		change func(*Migration)
		want   string
	}{
		"Forbidden": {
			reason: "The field is not allowed beside the manifest.",
			cause:  metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: field}, want: moved,
		},
		"OnlyAllowed": {
			reason: "Servers say so in other words, too.",
			cause: metav1.StatusCause{
				Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: "only allowed for type 'RollingUpdate'",
			},
			want: moved,
		},
		"Invalid": {
			reason: "The field is wrong, not forbidden.",
			cause:  metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field},
		},
		"OfAnother": {
			reason: "An applier keeps its own.",
			cause:  metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: field},
			change: func(m *Migration) {
				m.Live.SetManagedFields([]metav1.ManagedFieldsEntry{entry("applier", applied, theirs)})
			},
		},
		"OfTheManifest": {
			reason: "What the manifest gives is its own fault.",
			cause:  metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: "spec.strategy.type"},
		},
		"OutsideSpec": {
			reason: "Data has no defaults: it cannot be changed.",
			cause:  metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: "data"},
		},
		"NotOwned": {
			reason: "Others own the resource.",
			cause:  metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: field},
			change: func(m *Migration) { m.Owned = false },
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused := apierrors.NewInvalid(schema.GroupKind{}, "x", nil)
			refused.ErrStatus.Details.Causes = []metav1.StatusCause{tc.cause}
			m := Migration{
				Live: object(t, live), Manifest: object(t, manifest), Manager: manager, Owned: true, InTheWay: causes(refused),
			}
			if tc.change != nil {
				tc.change(&m)
			}
			entries, _, err := m.migrated()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, fieldsByManager(t, entries)[manager+" Apply"]); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMigratedIfRefused shows which fields of others are in the way of a manifest that a server has refused.
func TestMigratedIfRefused(t *testing.T) {
	const (
		port81   = `"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}`
		port9090 = `"k:{\"port\":9090,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}`
		theirs   = `{"f:metadata":{"f:labels":{"f:team":{}}},"f:spec":{` +
			`"f:conversion":{"f:webhook":{"f:caBundle":{}}},"f:ports":{` + port81 + `,` + port9090 + `},` +
			`"f:containers":{"k:{\"name\":\"side\"}":{".":{},"f:image":{}},"k:{\"name\":\"web\"}":{` +
			`"f:env":{"k:{\"name\":\"A\"}":{"f:value":{}},"k:{\"name\":\"B\"}":{"f:value":{}}},` +
			`"f:resources":{"f:requests":{"f:cpu":{}}},"f:tty":{}}},` +
			`"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}},"f:type":{}}}}`
		live = `{"spec":{"ports":[{"port":81,"protocol":"TCP","name":"http"},` +
			`{"port":9090,"protocol":"TCP","name":"metrics"}]}}`
		named = `{"metadata":{"name":"x"},"spec":{"ports":[{"port":80,"name":"http"}],"strategy":{"type":"Recreate"},` +
			`"containers":[{"name":"web","env":[{"name":"A","valueFrom":{}}],"resources":{"limits":{"cpu":"1"}}}]}}`
		unnamed = `{"spec":{"ports":[{"port":80}]}}`
		env     = `{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:env":{"k:{\"name\":\"A\"}":{"f:value":{}}}}}}}`
	)
	for name, tc := range map[string]struct {
		reason   string
		cause    metav1.StatusCause
		manifest string
		want     string
	}{
		"Duplicate": {
			"The item has the name of one of the manifest.",
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueDuplicate, Field: "spec.ports[1].name"},
			named, `{"f:spec":{"f:ports":{` + port81 + `}}}`,
		},
		"OtherKey": {
			"It differs in a key that the manifest leaves to a default.",
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueDuplicate, Field: "spec.ports[1].name"},
			`{"spec":{"ports":[{"port":81,"name":"http"}]}}`, `{"f:spec":{"f:ports":{` + port81 + `}}}`,
		},
		"Allocated": {
			"Only one item may have the value.",
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.ports[1].name"},
			named, `{"f:spec":{"f:ports":{` + port81 + `}}}`,
		},
		"UnnamedAmongItsOwn": {
			"A manifest that lacks a name among items of its own is at fault.",
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "spec.ports[0].name"},
			`{"spec":{"ports":[{"port":80},{"port":443}]}}`, "",
		},
		"Unnamed": {
			"Beside other items each needs a name, and that of the manifest has none.",
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "spec.ports[0].name"},
			unnamed, `{"f:spec":{"f:ports":{` + port81 + `,` + port9090 + `}}}`,
		},
		"Exclusive": {
			"Of an item of the manifest what excludes another field.",
			metav1.StatusCause{
				Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.containers[0].env[0].valueFrom",
				Message: "Invalid value: \"\": may not be specified when `value` is not empty",
			},
			named, env,
		},
		"OfTheField": {
			"What the server finds wrong if the manifest does not give it.",
			metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: "spec.strategy.rollingUpdate"},
			named, `{"f:spec":{"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}}}`,
		},
		"OfTheFieldBesideNothing": {
			"The server forbids what the manifest gives nothing of, and calls it as it does within.",
			metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: "spec.conversion.webhookClientConfig"},
			named, `{"f:spec":{"f:conversion":{"f:webhook":{"f:caBundle":{}}}}}`,
		},
		"OfAnItemOfOthers": {
			"In an item that the manifest does not give, nothing is.",
			metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: "spec.containers[0].image"},
			named, "",
		},
		"OfTheFieldInAnItem": {
			"So it is in an item.",
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.containers[0].resources.requests"},
			named, `{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:resources":{"f:requests":{"f:cpu":{}}}}}}}`,
		},
		"Missing": {
			"What the manifest lacks is not in the way.",
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "spec.containers[1].image"},
			named, "",
		},
		"Wrong": {
			"Nor is what is wrong in it.",
			metav1.StatusCause{
				Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.ports[0].targetPort", Message: "must be a DNS label",
			},
			named, "",
		},
		"Immutable": {
			"Nor what stands beside a field that cannot be changed.",
			metav1.StatusCause{
				Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.strategy", Message: "may not change once set",
			},
			named, "",
		},
		"Nothing": {"A refusal that names no field takes none.", metav1.StatusCause{}, named, ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused := apierrors.NewInvalid(schema.GroupKind{}, "x", nil)
			refused.ErrStatus.Details.Causes = []metav1.StatusCause{tc.cause}
			m := Migration{
				Live: object(t, live), Manifest: object(t, tc.manifest), Manager: manager, Owned: true,
				InTheWay: causes(refused),
			}
			for by, want := range map[string]string{ManagerOfKubectl: tc.want, "kubectl-edit": tc.want, "applier": ""} {
				e := entry(by, update, theirs)
				if by == "applier" {
					e.Operation = applied
				}
				m.Live.SetManagedFields([]metav1.ManagedFieldsEntry{e})
				entries, _, err := m.migrated()
				if err != nil {
					t.Fatal(err)
				}
				got := fieldsByManager(t, entries)[manager+" Apply"]
				if by == ManagerOfKubectl { // What the manifest gives is taken from it anyhow.
					got = strings.NewReplacer(`,"f:type":{}`, "", `,"f:strategy":{"f:type":{}}`, "",
						`"f:strategy":{"f:type":{}},`, "", `{"f:spec":{"f:strategy":{"f:type":{}}}}`, "").Replace(got)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s\nof %s: -want, +got:\n%s", tc.reason, by, diff)
				}
			}
		})
	}
}
