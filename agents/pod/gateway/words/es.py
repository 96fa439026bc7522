"""The texts of the pod's pages in Spanish."""

WORDS = {
    "console": "Abrir tu cuenta",
    "starting_title": "Un momento",
    "starting_text": "{name} todavía se está preparando. Esta página se actualiza sola.",
    "failing_title": "{name} no arranca",
    "failing_text": "El motor del agente, el programa que lo hace funcionar, no arranca. Su dueño ve en su cuenta "
    "por qué y cómo resolverlo. "
    "Esta página se actualiza sola.",
    "missing_title": "Aquí no hay nada",
    "missing_text": "No existe esa página en la dirección de este agente.",
    "closed_title": "Esta página es privada",
    "closed_text": "Aquí solo puede hablar con {name} su dueño. Abre la página desde tu cuenta: "
    "el enlace que hay allí inicia tu sesión.",
    "ticket_title": "Este enlace ya no sirve",
    "ticket_text": "Un enlace de acceso funciona una sola vez y durante un minuto. "
    "Abre la página otra vez desde tu cuenta.",
    "refused_title": "No funcionó",
    "login_title": "Iniciar sesión",
    "login_user": "Nombre de usuario",
    "login_password": "Contraseña",
    "login_submit": "Iniciar sesión",
    "login_wrong": "El nombre de usuario o la contraseña no es correcto.",
    "login_wait": "Demasiados intentos. Vuelve a intentarlo en unos minutos, o abre la página desde tu cuenta.",
    "chat_message": "Mensaje",
    "chat_placeholder": "Escribe a {name} …",
    "chat_send": "Enviar",
    "chat_stop": "Detener",
    "chat_new": "Conversación nueva",
    "chat_dashboard": "La página del motor",
    "chat_sign_out": "Cerrar sesión",
    "chat_log": "Conversación",
    "chat_you": "Tú",
    "chat_welcome_title": "Hola, soy {name}.",
    "chat_welcome_text": "Escríbeme aquí abajo. Lo que digas queda en esta conversación.",
    "chat_ready": "Disponible",
    "chat_thinking": "Pensando",
    "chat_down": "No disponible",
    "chat_no_key": "Sin clave del modelo",
    "chat_no_key_text": "Este agente todavía no tiene clave del modelo: escucha, pero no puede responder.",
    "chat_why_starting": "El agente se está iniciando. Vuelve a intentarlo en un momento.",
    "chat_why_restarting": "El motor del agente no responde en este momento. Se reinicia solo; "
    "vuelve a intentarlo pronto.",
    "chat_why_failing": "El motor del agente no arranca. "
    "La página del agente en tu cuenta dice por qué y cómo resolverlo.",
    "chat_why_failed": "No se pudo iniciar el agente. "
    "La página del agente en tu cuenta dice por qué y cómo resolverlo.",
    "chat_why_stopped": "El agente está detenido: alguien lo pausó o no está pagado. "
    "La página del agente en tu cuenta dice cuál de las dos cosas es y cómo iniciarlo de nuevo.",
    "chat_why_gone": "Este agente se eliminó.",
    "chat_why_unreachable": "No hay conexión con el agente. Puede estar en pausa, sin pagar o todavía sin iniciar: "
    "lo dice la página del agente en tu cuenta.",
    "chat_signed_out_text": "Tu sesión ha terminado. Lo que hay en esta página se queda aquí hasta que salgas de ella.",
    "chat_reason_key_refused": "El proveedor del modelo rechaza la clave de este agente. Hace falta otra clave.",
    "chat_reason_no_credit": "El proveedor del modelo dice que se agotó el saldo o la cuota de la clave "
    "de este agente. Hace falta más saldo allí u otra clave.",
    "chat_reason_too_many": "El proveedor del modelo recibió demasiadas solicitudes con la clave de este agente. "
    "Espera un minuto y vuelve a intentarlo.",
    "chat_reason_overloaded": "El proveedor del modelo está saturado o tiene un fallo. "
    "Vuelve a intentarlo en un minuto.",
    "chat_reason_unreachable_model": "No hay conexión con el proveedor del modelo, o se cortó. "
    "Vuelve a intentarlo en un minuto.",
    "chat_reason_no_model": "El proveedor no tiene el modelo que usa este agente. Hace falta otro modelo.",
    "chat_reason_crowded": "El agente está respondiendo a demasiadas personas a la vez. "
    "Vuelve a intentarlo en un momento.",
    "chat_help_agent": "Abrir la página del agente",
    "chat_help_key": "Abrir su modelo y su clave",
    "chat_help_sign_in": "Iniciar sesión de nuevo",
    "chat_ask_owner": "El dueño del agente puede cambiarlo.",
    "chat_failed_text": "Sin respuesta: ",
    "chat_lost_text": "Se cortó la conexión.",
    "chat_stopped_text": "Detenido.",
    "chat_silent_text": "El agente no dijo nada.",
    "chat_again": "Volver a intentarlo",
    "chat_copy": "Copiar",
    "chat_copied": "Copiado",
    "chat_not_copied": "No se copió. El código está seleccionado: cópialo desde ahí.",
    "chat_list": "Conversaciones",
    "chat_close": "Cerrar",
    "chat_none_yet": "Todavía no hay ninguna.",
    "chat_kept_text": "Las 40 conversaciones más recientes se guardan solo en este navegador, "
    "hasta que cierres la sesión. Esto no cambia lo que el agente mismo recuerda de ellas.",
    "chat_remove": "Quitar de la lista",
    "chat_remove_sure": "¿Quitar esta conversación de la lista? En este navegador no quedará nada de ella.",
    "a2a_text": "{name} es un agente que responde mensajes con texto.",
    "a2a_skill": "Conversación",
    "a2a_skill_text": "Lee un mensaje y lo responde; los mensajes con el mismo contexto son una conversación.",
    "noscript": "Esta página necesita JavaScript.",
}
