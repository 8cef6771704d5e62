<?php
$kernel = require __DIR__ . '/app.php';
$kernel->handle(Illuminate\Http\Request::capture())->send();
