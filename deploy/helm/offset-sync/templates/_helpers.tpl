{{/* At most 27 characters: with a job's name, 16, and the time of a scheduled run, 20, it is a label of 63. */}}
{{- define "offset-sync.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 27 | trimSuffix "-" -}}
{{- end -}}

{{- define "offset-sync.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Name, namespace and labels of an object; takes (dict "root" $ "suffix" "-console"). */}}
{{- define "offset-sync.metadata" -}}
name: {{ include "offset-sync.fullname" .root }}{{ .suffix }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "offset-sync.selectorLabels" .root | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{- define "offset-sync.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{- define "offset-sync.serviceAccount" -}}
{{- $usual := ternary (include "offset-sync.fullname" .) "default" .Values.serviceAccount.create -}}
{{ default $usual .Values.serviceAccount.name }}
{{- end -}}

{{/* The port of a job's metrics in the configuration, empty if off; takes (dict "root" $ "job" "sync_offsets"). */}}
{{- define "offset-sync.port" -}}
{{- index (default dict .root.Values.config.metrics) (printf "%s_port" .job) | toString | regexFind "^[1-9][0-9]*$" -}}
{{- end -}}

{{/* Name of that port: Kubernetes allows 15 characters. */}}
{{- define "offset-sync.portName" -}}
{{ get (dict "sync_offsets" "metrics-sync" "report_status" "metrics-status") . }}
{{- end -}}

{{/* The container ports of the jobs; takes (dict "root" $ "jobs" (list …)). */}}
{{- define "offset-sync.containerPorts" -}}
{{- range $job := .jobs }}
{{- with include "offset-sync.port" (dict "root" $.root "job" $job) }}
- {name: {{ include "offset-sync.portName" $job }}, containerPort: {{ . }}, protocol: TCP}
{{- end }}
{{- end }}
{{- end -}}

{{- define "offset-sync.volumeMounts" -}}
{{- if .Values.secret }}
- {name: secrets, mountPath: /etc/offset-sync/secrets, readOnly: true}
{{- end }}
{{- with .Values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "offset-sync.volumes" -}}
- name: configuration
  {{- if .Values.existingConfig.secret }}
  secret: {secretName: {{ .Values.existingConfig.secret }}, defaultMode: 288} # 0440
  {{- else }}
  configMap: {name: {{ default (include "offset-sync.fullname" .) .Values.existingConfig.configMap }}}
  {{- end }}
{{- if .Values.secret }}
- name: secrets
  secret: {secretName: {{ .Values.secret }}, defaultMode: 288} # 0440
{{- end }}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A change of the configuration changes the pods, so that they are restarted. */}}
{{- define "offset-sync.podAnnotations" -}}
{{- $checksum := dict "checksum/config" (toYaml .Values.config | sha256sum) -}}
{{- merge (dict) .Values.podAnnotations $checksum | toYaml -}}
{{- end -}}

{{/* Environment and placement: the same names in containers and pods, and in an application's driver and executor. */}}
{{- define "offset-sync.env" -}}
{{- range $field := list "env" "envFrom" }}
{{- with get $.Values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
{{- define "offset-sync.placement" -}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" }}
{{- with get $.Values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What the schema cannot say: the configuration is there, and its tables outlive the pod. */}}
{{- define "offset-sync.check" -}}
{{- $existing := .Values.existingConfig -}}
{{- if and $existing.configMap $existing.secret -}}
{{- fail "existingConfig: set configMap or secret, not both" -}}
{{- end -}}
{{- if not (or $existing.configMap $existing.secret) -}}
{{- range $section := list "clusters" "topics" -}}
{{- if not (get $.Values.config $section) -}}
{{- fail (printf "config.%s: missing; start from deploy/helm/example.yaml, or set existingConfig" $section) -}}
{{- end -}}
{{- end -}}
{{- $tables := default dict .Values.config.tables -}}
{{- $isOnVolume := and (eq .Values.mode "run") .Values.persistence.enabled -}}
{{- range $key, $usual := dict "root" "./data/tables" "checkpoints" "./data/checkpoints" -}}
{{- $place := default $usual (get $tables $key) -}}
{{- $isRemote := or (contains "://" $place) (hasPrefix "${" $place) -}}
{{- $isInData := regexMatch "^((\\./)?|/home/spark/)data/" $place -}}
{{- if not (or $isRemote (and $isOnVolume $isInData)) -}}
{{- $remedy := ternary "below ./data, which is the volume, or " "" $isOnVolume -}}
{{- $text := "config.tables.%s: %s is lost with the pod; put it %sat s3a://, abfss://, gs:// or hdfs://" -}}
{{- fail (printf $text $key $place $remedy) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
